import type { Database } from "./open.ts";

/** A time as the database keeps it, for where nothing converts it. */
export const storedTime = ({ orm }: Pick<Database, "orm">, time: Date): Date =>
  orm.em.getPlatform().processDateProperty(time) as unknown as Date;
