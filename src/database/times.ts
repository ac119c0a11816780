import type { Database } from "./open.ts";

/** A time in the form of the database, for queries that convert no values. */
export const storedTime = ({ orm }: Pick<Database, "orm">, time: Date): Date =>
  orm.em.getPlatform().processDateProperty(time) as Date;
