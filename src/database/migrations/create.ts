import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../open.ts";

// npm run migration -- NAME: writes the migration from the last snapshot of the schema to the entities as they are now.
const [name] = process.argv.slice(2);
if (!name) throw new Error("Name the migration: npm run migration -- NAME");
const database = await openDatabase(`sqlite:${join(tmpdir(), `gabbro-migration-${process.pid}.sqlite`)}`);
const { fileName, diff } = await database.orm.migrator.create(undefined, false, false, name);
await database.close();
process.stdout.write(
  diff.up.length > 0
    ? `Wrote ${fileName}; add it to migrations/sqlite/list.ts.\n`
    : "The entities have not changed.\n",
);
