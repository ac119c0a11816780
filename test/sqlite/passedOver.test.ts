import { afterAll, expect, test } from "vitest";
import { addDataset, addPrompt, model } from "../support/data.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

// SQLite reads a row up to the column that is asked for.

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const LONG = "x".repeat(300_000);

const addRows = (slug: string) =>
  addDataset(server, {
    slug,
    columns: [{ name: "a", type: "text" }],
    rows: Array.from({ length: 10 }, (_, n) => ({ values: { a: `${n}` }, idealOutput: LONG })),
  });

test("short values behind long texts are read a megabyte at a time", async () => {
  await addRows("newest");
  const stop = await captureStatements(server);
  const { rows } = await server.run('{ dataset(slug: "newest") { rows { nodes { metadata values } } } }');
  const statements = stop().filter(({ sql }) => sql.includes('"dataset_rows"'));
  const [page, ...read] = statements.filter(({ sql }) => sql.includes('"values"'));
  expect(rows).toHaveLength(10);
  expect(rows[9]).toEqual({ metadata: null, values: { a: "9" } });
  expect(page!.sql).not.toContain(" in (");
  expect(read.length).toBeGreaterThanOrEqual(4); // three of 300 kB in each
});

test("short values behind long texts are read a megabyte at a time, of an old version", async () => {
  const { rowIds } = await addRows("outputs");
  const { version } = await server.run('{ dataset(slug: "outputs") { version } }');
  const change =
    'mutation ($id: ID!) { updateDatasetItem(id: $id, input: { name: "changed" }) { datasetRow { id } } }';
  for (const id of rowIds) expect(await server.run(change, { id })).not.toHaveProperty("error");
  const stop = await captureStatements(server);
  const { rows } = await server.run(
    `{ dataset(slug: "outputs", version: ${version}) { rows { nodes { metadata values } } } }`,
  );
  const read = stop().filter(({ sql }) => sql.includes('"metadata" as "metadata"') && sql.includes(" in ("));
  expect(rows).toHaveLength(10);
  expect(read.length).toBeGreaterThanOrEqual(4); // three of 300 kB in each
});

test("texts of prompts behind long models are read a megabyte at a time", async () => {
  const long = { ...model("openai", "gpt"), parameters: { stop: LONG } };
  for (let n = 0; n < 10; n++)
    await addPrompt(server, { slug: `long-${n}`, versions: [{ version: "1", text: `${n}`, model: long }] });
  const stop = await captureStatements(server);
  const prompts = await server.run("{ prompts { nodes { latest { text } } } }");
  const read = stop().filter(({ sql }) => sql.startsWith('select "id", "text"'));
  expect(
    prompts
      .map(({ latest }: { latest: { text: string } }) => latest.text)
      .toSorted()
      .join(""),
  ).toBe("0123456789");
  expect(read.map(({ sql }) => sql.match(/\?/g)!.length)).toEqual([4, 4, 4, 2]); // a workspace, and three ids or the last
});

test("a filter by metadata behind long texts examines four megabytes at a time", async () => {
  const metadata = { key: "metadata", value: { stringValue: '{"region":"eu"}' } };
  const spans = Array.from({ length: 30 }, () =>
    newSpan({ attributes: [metadata], status: { code: 2, message: LONG } }),
  );
  expect((await send(server, encodeSpans(spans))).status).toBe(200);
  const stop = await captureStatements(server);
  const logs = await server.run(
    '{ logs(first: 100, filter: { metadata: [{ key: "region", value: "eu" }] }) { nodes { id } } }',
  );
  const examined = stop().filter(({ sql }) => sql.includes("json_each") || sql.includes("json_extract"));
  expect(logs).toHaveLength(30);
  expect(examined.filter(({ sql }) => sql.includes(" in (")).length).toBeGreaterThan(1);
});
