import { afterAll, expect, test } from "vitest";
import { ADD_MANY, CREATE, UPDATE } from "../support/datasetHistory.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const { run } = server;

const COLUMNS = `query ($from: Int!, $to: Int!, $first: Int, $after: String) {
  datasetDiff(slug: "capitals", from: { version: $from }, to: { version: $to }, first: $first, after: $after) {
    columnChanges { kind before { name type } after { name type } } nodes { kind } pageInfo { endCursor }
  }
}`;

const diffOf = async (from: number, to: number, page: { first?: number; after?: string } = {}) =>
  (await server.graphql(COLUMNS, { from, to, ...page })).body.data.datasetDiff;
const columnChanges = async (from: number, to: number) => (await diffOf(from, to)).columnChanges;

const column = (name: string, type: string) => ({ name, type });
const update = (input: object) => run(UPDATE, { slug: "capitals", input });

test("a diff of two versions has each column that was added, removed, renamed or given another type", async () => {
  const columns = [column("country", "TEXT"), column("flag", "FILE"), column("facts", "TEXT")];
  await run(CREATE, { input: { slug: "capitals", columns } });
  await server.post("/datasets/capitals/items", { values: { country: "Chad", flag: "a", facts: "b" } }); // 2
  await update({ renameColumns: [{ from: "country", to: "nation" }] }); // 3
  await update({ removeColumns: ["flag"] }); // 4
  await update({ addColumns: [column("capital", "TEXT")] }); // 5
  await update({ removeColumns: ["facts"] }); // 6
  await update({ addColumns: [column("facts", "JSON")] }); // 7

  const renamed = {
    ...{ kind: "CHANGED", before: column("country", "TEXT"), after: column("nation", "TEXT") },
  };
  const removed = { kind: "REMOVED", before: column("flag", "FILE"), after: null };
  const added = { kind: "ADDED", before: null, after: column("capital", "TEXT") };
  const retyped = { kind: "CHANGED", before: column("facts", "TEXT"), after: column("facts", "JSON") };
  expect(await columnChanges(1, 2)).toEqual([]);
  expect(await columnChanges(2, 3)).toEqual([renamed]);
  expect(await columnChanges(3, 4)).toEqual([removed]);
  expect(await columnChanges(4, 5)).toEqual([added]);
  expect(await columnChanges(5, 7)).toEqual([retyped]);
  expect(await columnChanges(1, 7)).toEqual([renamed, removed, retyped, added]);
  expect(await columnChanges(4, 2)).toEqual([
    { kind: "CHANGED", before: column("nation", "TEXT"), after: column("country", "TEXT") },
    { kind: "ADDED", before: null, after: column("flag", "FILE") },
  ]);
  expect((await diffOf(2, 7)).nodes).toEqual([]);

  const page = await diffOf(1, 7, { first: 1 });
  expect(page.nodes).toEqual([{ kind: "ADDED" }]);
  const after = await diffOf(1, 7, { after: page.pageInfo.endCursor });
  expect(after).toMatchObject({ columnChanges: page.columnChanges, nodes: [] });
});

test("pages of a diff have every row that changed, also between rows that were stored again as they were", async () => {
  await run(CREATE, { input: { slug: "again", columns: [column("n", "TEXT")] } });
  const store = async (isChanged: (n: number) => boolean) => {
    const items = Array.from({ length: 100 }, (_, n) => ({
      key: `k${n}`,
      values: { n: isChanged(n) ? "new" : "old" },
    }));
    await run(ADD_MANY, { slug: "again", input: { items } });
    return (await run('{ dataset(slug: "again") { version } }')).version;
  };
  const isChanged = (n: number) => n % 10 === 9 || n > 70;
  const [from, to] = [await store(() => false), await store(isChanged)];
  const expected = Array.from({ length: 100 }, (_, n) => n).filter(isChanged);
  for (const first of [1, 30, 100]) {
    const found: string[] = [];
    for (let after: string | undefined, more = true; more; ) {
      const { body } = await server.graphql(
        `query ($from: Int!, $to: Int!, $first: Int, $after: String) {
          datasetDiff(slug: "again", from: { version: $from }, to: { version: $to }, first: $first, after: $after) {
            nodes { after { key } } pageInfo { hasNextPage endCursor }
          }
        }`,
        { from, to, first, after },
      );
      const { nodes, pageInfo } = body.data.datasetDiff;
      expect(nodes.length).toBeLessThanOrEqual(first);
      found.push(...nodes.map((node: { after: { key: string } }) => node.after.key));
      [after, more] = [pageInfo.endCursor, pageInfo.hasNextPage];
    }
    expect(found).toEqual(expected.map((n) => `k${n}`));
  }
});
