// JavaScript, as mikro-orm takes a configuration in TypeScript only with a loader, which Node.js 24 does not need.
import { loadConfig } from "./src/config.ts";
import { dialectOf, ormOptions } from "./src/database/open.ts";
import { entities } from "./src/entities.ts";

/** What `npx mikro-orm` works on: the database of DATABASE_URL, by default the file that `npm start` uses. */
export default async () => ormOptions(await dialectOf(loadConfig().databaseUrl), entities);
