import { dialectOf, openOrm } from "../../database/open.ts";
import { entities } from "../../entities.ts";

// npm run migration -- NAME: writes the migrations of both databases, from the last snapshots of the schema to the
// current entities. Connects to neither database.
const [name] = process.argv.slice(2);
if (!name) throw new Error("Name the migration: npm run migration -- NAME");
for (const url of ["sqlite::memory:", "postgresql://localhost/none"]) {
  const dialect = await dialectOf(url);
  const orm = await openOrm(dialect, entities);
  const { fileName, diff } = await orm.migrator.create(undefined, false, false, name);
  await orm.close();
  process.stdout.write(
    diff.up.length > 0
      ? `Wrote ${fileName}; add it to migrations/${dialect.folder}/list.ts.\n`
      : `The entities have not changed for ${dialect.folder}.\n`,
  );
}
