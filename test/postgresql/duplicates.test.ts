import { randomBytes } from "node:crypto";
import pg from "pg";
import { expect, test } from "vitest";
import { traceIdOf } from "../../src/logs/spanIds.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { execute } from "../support/postgresSetup.ts";
import { type Server, startServer } from "../support/server.ts";

/** Adds a copy of a row, with other fields, in a transaction that the returned function commits once somebody waits for it. */
async function addSlowly({ databaseUrl }: Server, table: string, fields: object) {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on("error", () => {}); // where a test fails, its database is removed before
  await client.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  await client.query("begin");
  await client.query(
    `insert into ${table} select (jsonb_populate_record(r, $1::jsonb)).* from ${table} r limit 1`,
    [JSON.stringify(fields)],
  );
  const waiting = `select 1 from pg_stat_activity where ${rows[0].pid} = any(pg_blocking_pids(pid))`;
  return async () => {
    await expect.poll(() => execute(databaseUrl, waiting), { interval: 5 }).toHaveLength(1);
    await client.query("commit");
    await client.end();
  };
}

test("spans of two new traces, both of which others add meanwhile, are stored", async () => {
  await using server = await startServer();
  const workspaceId = await getWorkspaceId(server.database, "default");
  await send(server, encodeSpans([newSpan()]));
  const traces = [randomBytes(16), randomBytes(16)].map((traceId) => {
    const externalId = traceId.toString("hex");
    return { traceId, externalId, id: traceIdOf(workspaceId, externalId) };
  });
  traces.sort((one, other) => (one.id < other.id ? -1 : 1));
  const commits = [];
  for (const { id, externalId } of traces)
    commits.push(await addSlowly(server, "traces", { id, external_id: externalId, root_id: null }));
  const stored = send(server, encodeSpans(traces.map(({ traceId }) => newSpan({ traceId }))));
  for (const commit of commits) await commit();
  expect(await stored).toMatchObject({ status: 200 });
  for (const { externalId } of traces)
    expect(await server.run(`{ trace(id: "${externalId}") { logCount } }`)).toEqual({ logCount: 1 });
});

test("a request with a key whose two prices others add meanwhile is answered and stored, and no error is kept for its key", async () => {
  await using server = await startServer();
  const set = (model: string) =>
    `${model}: setModelPrice(input: { model: "${model}", inputPrice: 2, outputPrice: 2 }) { modelPrice { model inputPrice } }`;
  await server.run(`mutation { ${set("any")} }`);
  const ids = ["01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"];
  const commits = [];
  for (const [at, id] of ids.entries())
    commits.push(await addSlowly(server, "model_prices", { id, model: `m${at}`, input_price: 1 }));
  const document = `mutation { ${set("m0")} ${set("m1")} }`;
  const ask = () => server.graphql(document, {}, { headers: { "idempotency-key": "two" } });
  const answered = ask();
  for (const commit of commits) await commit();
  const data = Object.fromEntries(
    ["m0", "m1"].map((model) => [model, { modelPrice: { model, inputPrice: 2 } }]),
  );
  expect((await answered).body).toEqual({ data });
  expect((await ask()).body).toEqual({ data });
});
