import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, test, vi } from "vitest";
import { removeDeletedDatasets } from "../../src/datasets/removal.resolvers.ts";
import { Trace } from "../../src/logs/entities.ts";
import { traceOf } from "../../src/logs/resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { type Server, startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const workspaceId = await getWorkspaceId(server.database, "default");

/** Asks, and removes all traces and logs once a column was measured, before it is read. */
async function askWhileRemoving(query: string, column: string) {
  await addLogs(server, 3, () => ({ metadata: { a: 1 }, output: "x" }));
  const { rows, fork } = server.database;
  const reads = new RegExp(`^select (?!.*octet_length).*[\`"]${column}[\`"] as `, "is");
  const read = vi.spyOn(server.database, "rows").mockImplementation(async (compilable) => {
    if (reads.test(compilable.compile().sql)) {
      read.mockRestore();
      await fork(workspaceId).nativeDelete(Trace, { workspace: workspaceId });
    }
    return rows(compilable);
  });
  const { status, body } = await server.graphql(query);
  expect(vi.isMockFunction(server.database.rows)).toBe(false); // it was removed
  return {
    status,
    codes: body.errors?.map(({ extensions }: { extensions: { code: string } }) => extensions.code),
  };
}

test.each([
  ["a name, which no trace lacks", "{ traces { edges { node { name } } } }", "name"],
  [
    "metadata, which would look as if there had never been any",
    "{ traces { nodes { metadata } } }",
    "metadata",
  ],
])("a trace that is removed while it is listed is not found: %s", async (_, query, column) => {
  const { status, codes } = await askWhileRemoving(query, column);
  expect(status).toBe(200);
  expect(new Set(codes)).toEqual(new Set(["TRACE_NOT_FOUND"]));
});

test("a log that is removed while it is listed is not found", async () => {
  const { codes } = await askWhileRemoving("{ logs { nodes { output } } }", "output");
  expect(new Set(codes)).toEqual(new Set(["LOG_NOT_FOUND"]));
});

test("a trace that is removed after its log was read is not found, and no fault of the service", async () => {
  const context = commandLineContext(server.database, workspaceId);
  const [log] = (await addLogs(server, 1, () => ({}))).rows;
  const reading = traceOf(context, { ...log!, trace: uuidv7() } as never);
  await expect(reading).rejects.toMatchObject({ code: "TRACE_NOT_FOUND" });
});

const COLUMNS = [{ name: "a", type: "text" as const }];
const slugOf = (n: number) => `entry-${String(n).padStart(3, "0")}`;
const DELETE = {
  datasets: (slug: string) => `deleteDataset(slug: "${slug}") { deletedDatasetId }`,
  prompts: (slug: string) => `deletePrompt(slug: "${slug}") { deletedPromptId }`,
};

/** Deletes entries of a list before its own next turn, or once their ids were found. */
function deleteAt(own: Server, by: "turn" | "search", list: keyof typeof DELETE, slugs: string[]) {
  const remove = async () => {
    const deletions = slugs.map((slug, n) => `_${n}: ${DELETE[list](slug)}`);
    expect((await own.graphql(`mutation { ${deletions.join(" ")} }`)).body.errors).toBeUndefined();
  };
  const { search, turn } = own.database;
  const { findIds } = search;
  const spy =
    by === "turn"
      ? vi.spyOn(own.database, "turn").mockImplementation(async (workspace) => {
          spy.mockRestore();
          await remove();
          await turn(workspace);
        })
      : vi.spyOn(search, "findIds").mockImplementation(async (workspace, query) => {
          const ids = await findIds(workspace, query);
          spy.mockRestore();
          await remove();
          return ids;
        });
}

test.each([
  ["datasets", "turn", ""],
  ["datasets", "search", 'search: "entry"'],
  ["prompts", "search", 'search: "entry"'],
  ["prompts", "search", 'filter: { not: { slug: ["other"] } }'],
] as const)(
  "a page of %s has as many entries as were asked for, whatever is deleted while it is read: %s %s",
  async (list, by, args) => {
    await using own = await startServer();
    for (const slug of Array.from({ length: 12 }, (_, n) => slugOf(n)))
      await (list === "datasets" ? addDataset(own, { slug, columns: COLUMNS }) : addPrompt(own, { slug }));
    const pageOf = async (range: string) =>
      own.run(`{ ${list}(${range} ${args}) { nodes { slug } pageInfo { hasNextPage hasPreviousPage } } }`);
    deleteAt(own, by, list, [1, 2, 3].map(slugOf)); // the last of the page, which shows that others follow, among them
    expect(await pageOf("first: 3")).toEqual({
      nodes: [0, 4, 5].map((n) => ({ slug: slugOf(n) })),
      pageInfo: { hasNextPage: true, hasPreviousPage: false },
    });
    deleteAt(own, by, list, [8, 9, 10, 11].map(slugOf)); // all of the page
    expect(await pageOf("last: 3")).toEqual({
      nodes: [5, 6, 7].map((n) => ({ slug: slugOf(n) })),
      pageInfo: { hasNextPage: false, hasPreviousPage: true },
    });
  },
);

test("REST lists all datasets that stay while others are deleted", async () => {
  await using own = await startServer();
  const slugs = Array.from({ length: 102 }, (_, n) => slugOf(n));
  for (const slug of slugs) await addDataset(own, { slug, columns: COLUMNS });
  deleteAt(own, "turn", "datasets", [slugOf(7)]);
  const { body } = await own.get("/datasets");
  const expected = slugs.filter((slug) => slug !== slugOf(7));
  expect(body.datasets.map(({ slug }: { slug: string }) => slug)).toEqual(expected);
});

/** Makes a change once the first statement that reads a table has its rows. */
function changeAfter({ database }: Server, table: string, change: () => Promise<unknown>) {
  const { rows } = database;
  const spy = vi.spyOn(database, "rows").mockImplementation(async (query) => {
    const found = await rows(query);
    if (!new RegExp(`from [\`"]${table}[\`"]`).test(query.compile().sql)) return found;
    spy.mockRestore();
    await change();
    return found;
  });
}

const LONG = "x".repeat(5_000); // read apart from its row
const longRows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ values: { a: `${n} ${LONG}` } }));

test("a page has as many rows with long texts as were asked for, whichever are deleted while it is read", async () => {
  const { rowIds } = await addDataset(server, { slug: "rows", columns: COLUMNS, rows: longRows(12) });
  const rowsIn = (range: string) =>
    server.run(
      `{ dataset(slug: "rows") { rows(${range}) { nodes { id values } pageInfo { hasNextPage } } } }`,
    );
  const removeRows = async (ids: string[]) => {
    const deletions = ids.map((id, n) => `_${n}: deleteDatasetItem(id: "${id}") { deletedDatasetItemId }`);
    expect(await server.run(`mutation { ${deletions.join(" ")} }`)).not.toHaveProperty("error");
  };
  changeAfter(server, "dataset_rows", () => removeRows(rowIds.slice(1, 4))); // the last of the page among them
  const page = (await rowsIn("first: 3")).rows;
  expect(page.nodes.map(({ id }: { id: string }) => id)).toEqual([0, 4, 5].map((n) => rowIds[n]));
  expect(page.pageInfo).toEqual({ hasNextPage: true });
  changeAfter(server, "dataset_rows", () => removeRows([rowIds[0]!, ...rowIds.slice(4, 7)])); // all of the page
  const rest = (await rowsIn("first: 3")).rows;
  expect(rest.nodes.map(({ id }: { id: string }) => id)).toEqual(rowIds.slice(7, 10));
  expect(rest.pageInfo).toEqual({ hasNextPage: true });
});

const shortRows = (count: number, a: string) => Array.from({ length: count }, () => ({ values: { a } }));

/** A dataset in version 2, which is deleted and removed once rows of it were first read. */
async function addDoomed(slug: string, rows: { values: { a: string } }[]) {
  await addDataset(server, { slug, columns: COLUMNS, rows });
  await server.post(`/datasets/${slug}/items`, { values: { a: "last" } });
  changeAfter(server, "dataset_rows", async () => {
    expect(await server.run(`mutation { ${DELETE.datasets(slug)} }`)).not.toHaveProperty("error");
    await removeDeletedDatasets(server.database, new AbortController().signal);
  });
}

test.each([
  ["several pages", 2, shortRows(600, "1")],
  ["long texts", 2, longRows(3)],
  ["an older version", 1, shortRows(3, "1")],
])("a dataset that is deleted while its rows are read is not found: %s", async (_, version, rows) => {
  await addDoomed("doomed", rows);
  const { status, body } = await server.get(`/datasets/doomed?version=${version}`);
  expect([status, body.code]).toEqual([404, "DATASET_NOT_FOUND"]);
  await addDoomed("doomed", rows);
  const asked = `{ dataset(slug: "doomed", version: ${version}) { rows { nodes { values } } } }`;
  expect(await server.run(asked)).toMatchObject({ error: { code: "DATASET_NOT_FOUND" } });
});

test("a dataset that is deleted while it is compared is not found", async () => {
  await addDoomed("doomed", shortRows(3, "1"));
  const asked =
    '{ datasetDiff(slug: "doomed", from: { version: 1 }, to: { version: 2 }) { nodes { kind } } }';
  expect(await server.run(asked)).toMatchObject({ error: { code: "DATASET_NOT_FOUND" } });
});

test.each(["identity", "gzip"])(
  "an answer with a part of the rows of a deleted dataset does not end as a whole one: %s",
  async (encoding) => {
    await addDoomed("doomed", shortRows(600, "x".repeat(200)));
    const headers = { authorization: `Bearer ${server.token}`, "accept-encoding": encoding };
    const response = await fetch(`${server.url}/datasets/doomed`, { headers }).catch(() => undefined);
    const body = await response?.json().catch(() => undefined); // either fails where the connection is closed
    expect(body?.dataset).toBeUndefined();
  },
);
