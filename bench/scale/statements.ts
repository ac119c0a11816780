import pg from "pg";
import { createApp } from "../../src/app.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { type Probe, probes, type Target } from "./probes.ts";

/** How many statements of SQL each operation takes once it is warm; a transaction counts its beginning and its end. */
export async function countStatements(databaseUrl: string, target: Omit<Target, "url">) {
  const database = await openDatabase(databaseUrl, entities);
  const app = await createApp(database, { corsOrigins: [] }, false);
  const query = pg.Client.prototype.query;
  let count = 0;
  pg.Client.prototype.query = function (this: pg.Client, ...args: never[]) {
    count += 1;
    return query.apply(this, args as never) as never;
  } as typeof query;
  const run = async (probe: Probe) => {
    const { method, path, body } = probe.request({ ...target, url: "" }, () => 0.5);
    await app.inject({
      ...{ method, url: path },
      headers: { authorization: `Bearer ${target.token}`, "content-type": "application/json" },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    });
  };
  try {
    const counts: { name: string; statements: number }[] = [];
    for (const probe of probes) {
      await run(probe);
      count = 0;
      await run(probe);
      counts.push({ name: probe.name, statements: count });
    }
    return counts;
  } finally {
    pg.Client.prototype.query = query;
    await app.close();
  }
}
