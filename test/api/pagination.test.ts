import { buildSchema } from "graphql";
import { afterAll, expect, test } from "vitest";
import { signIn } from "../../src/console/sessions.resolvers.ts";
import type { Dataset } from "../../src/datasets/entities.ts";
import { entities } from "../../src/entities.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { Log } from "../../src/logs/entities.ts";
import { printedSchema } from "../../src/schema.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { connections, connectionsOf } from "../support/connections.ts";
import { addDataset, addPrompt, addWorkspace } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { createRandom } from "../support/random.ts";
import { type Server, startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
const { below } = createRandom(20);

const COUNT = 12;
const numbers = Array.from({ length: COUNT }, (_, n) => n);
const name = (n: number) => `entry-${String(n).padStart(2, "0")}`;
const columns = [{ name: "a", type: "text" as const }];

interface List {
  /** The list with its arguments in place of "ARGUMENTS", as an operation. */
  query: string;
  /** The entity of its entries. */
  entity:
    | "AccessToken"
    | "AuditEntry"
    | "ConsoleSession"
    | "Dataset"
    | "DatasetRow"
    | "Log"
    | "ModelPrice"
    | "Prompt"
    | "PromptTagMove"
    | "PromptVersion"
    | "RejectedItem"
    | "Trace";
  /** Whether it is also read from its end. */
  isReversible: boolean;
  /** Where its entries have their ids, when it is not at the top. */
  entry?: "after";
  /** The column that the entities of an entry have in common, when an entry is a group of them. */
  group?: "promptSlug";
  /** Whether its entries are only removed all together. */
  isRemovedWhole?: boolean;
}

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

const LISTS: Record<string, List> = {
  "Query.accessTokens": {
    query: "{ accessTokens(ARGUMENTS) PAGE }",
    entity: "AccessToken",
    isReversible: true,
  },
  "Query.auditLog": { query: "{ auditLog(ARGUMENTS) PAGE }", entity: "AuditEntry", isReversible: true },
  "Query.consoleSessions": {
    query: "{ consoleSessions(ARGUMENTS) PAGE }",
    entity: "ConsoleSession",
    isReversible: true,
  },
  "Query.datasetDiff": {
    query: '{ datasetDiff(slug: "entry-00", from: { version: 1 }, to: { tag: "latest" }, ARGUMENTS) PAGE }',
    ...{ entity: "DatasetRow", isReversible: false, entry: "after" },
  },
  "Query.datasets": { query: "{ datasets(ARGUMENTS) PAGE }", entity: "Dataset", isReversible: true },
  "Query.logs": { query: "{ logs(ARGUMENTS) PAGE }", entity: "Log", isReversible: false },
  "Query.modelPrices": { query: "{ modelPrices(ARGUMENTS) PAGE }", entity: "ModelPrice", isReversible: true },
  "Query.prompts": { query: "{ prompts(ARGUMENTS) PAGE }", entity: "Prompt", isReversible: true },
  "Query.rejectedItems": {
    query: "{ rejectedItems(ARGUMENTS) PAGE }",
    entity: "RejectedItem",
    isReversible: true,
  },
  "Dataset.rows": {
    query: '{ dataset(slug: "entry-00") { rows(ARGUMENTS) PAGE } }',
    entity: "DatasetRow",
    isReversible: false,
  },
  "Prompt.tagHistory": {
    query: '{ prompt(slug: "entry-00") { tagHistory(ARGUMENTS) PAGE } }',
    entity: "PromptTagMove",
    isReversible: true,
  },
  "Trace.logs": {
    query: `{ trace(id: "${TRACE_ID}") { logs(ARGUMENTS) PAGE } }`,
    ...{ entity: "Log", isReversible: false, isRemovedWhole: true },
  },
  "Query.traces": { query: "{ traces(ARGUMENTS) PAGE }", entity: "Trace", isReversible: false },
  "Query.logCounts": {
    query: '{ logCounts(from: "2026-01-01", to: "2026-02-01", groupBy: PROMPT, ARGUMENTS) PAGE }',
    ...{ entity: "Log", isReversible: false, group: "promptSlug" },
  },
  "Query.usage": {
    query: '{ usage(from: "2026-01-01", to: "2026-02-01", groupBy: PROMPT, ARGUMENTS) PAGE }',
    ...{ entity: "Log", isReversible: false, group: "promptSlug" },
  },
  "Prompt.versions": {
    query: '{ prompt(slug: "entry-00") { versions(ARGUMENTS) PAGE } }',
    entity: "PromptVersion",
    isReversible: true,
  },
};

const nodeSelection = ({ entry, group }: Pick<List, "entry" | "group">) =>
  entry ? `{ ${entry} { id } }` : group ? "{ id: key }" : "{ id }";
const pageSelection = (node: string) =>
  `{ edges { cursor node ${node} } nodes ${node} pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`;

interface Page {
  edges: { cursor: string; node: { id: string } }[];
  nodes: { id: string }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

const entityOf = ({ entity }: List) => entities.find(({ meta }) => meta.name === entity)! as typeof Dataset;

/** Removes an entry of a list: not by a query, of which caches hear nothing. */
async function remove({ database }: Server, list: List, id: string) {
  const em = database.fork(null);
  if (list.group) em.remove(await em.find(Log, { [list.group]: id }, { filters: false }));
  else em.remove(em.getReference(entityOf(list), id));
  await em.flush();
}

/** A page of a list, by the arguments as they stand in a document. */
async function pageOf(to: Server, list: List, args: string): Promise<Page> {
  const { query, entry } = list;
  const selection = pageSelection(nodeSelection(list));
  let found = await to.run(query.replace("ARGUMENTS", args).replace("PAGE", selection));
  while (!("edges" in found)) found = Object.values(found)[0];
  if (!entry) return found;
  const entryOf = (node: Record<string, { id: string }>) => ({ id: node[entry]!.id.split("@")[0]! });
  // biome-ignore lint/suspicious/noExplicitAny: a field may have any shape
  const edges = found.edges.map(({ cursor, node }: any) => ({ cursor, node: entryOf(node) }));
  return { ...found, edges, nodes: found.nodes.map(entryOf) };
}

/** A span below the one before it or, every third time, below the first one. */
const spanOf = (n: number) => ({
  traceId: TRACE_ID,
  spanId: spanId(n),
  parentSpanId: n === 0 ? undefined : spanId(n % 3 ? n - 1 : 0),
  ...{ name: name(n), startTimeUnixNano: "1770000000000000000", endTimeUnixNano: "1770000001000000000" },
});
const spanId = (n: number) => (n + 1).toString(16).padStart(16, "0");

/** The same mutation for each number, in one document. */
const forEach = (to: Server, mutation: (n: number) => string) =>
  to.run(`mutation { ${numbers.map((n) => `_${n}: ${mutation(n)}`).join(" ")} }`);

/** A dozen entries in every list. */
async function fill(to: Server) {
  const rows = numbers.map((n) => ({ values: { a: String(n) } }));
  for (const n of numbers) await addDataset(to, { slug: name(n), columns, rows: n === 0 ? rows : [] });
  for (const mutation of [
    (n: number) => `createPrompt(input: { slug: "${name(n)}" }) { prompt { slug } }`,
    (n: number) =>
      `createPromptVersion(slug: "entry-00", input: { version: "${n}", text: "x" }) { warnings { message } }`,
    (n: number) =>
      `publishPrompt(slug: "entry-00", input: { newTag: "production", to: { version: "${n}" } }) { promptTag { label } }`,
    (n: number) =>
      `setModelPrice(input: { model: "${name(n)}", inputPrice: 1, outputPrice: 1 }) { modelPrice { id } }`,
    (n: number) => `createAccessToken(input: { name: "${name(n)}", scopes: [READ] }) { token }`,
  ])
    expect(await forEach(to, mutation)).not.toHaveProperty("error");
  for (const n of numbers) {
    await to.post(`/datasets/none-${n}/items`, { values: {} });
    await signIn(to.database, { token: to.token });
  }
  await to.post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans: numbers.map(spanOf) }] }] });
  await storeRejected(to.database);
  // Some prompts have one log, some four: groups of both sizes are listed.
  await addLogs(to, 2 * COUNT, (n) => ({
    startTime: new Date(Date.UTC(2026, 0, 1, 0, n % 5)),
    promptSlug: name(n < COUNT ? n : n % 4),
  }));
}

await fill(server);

test("every connection of the schema is tried here", () => {
  expect(Object.keys(LISTS).toSorted()).toEqual([...connections.keys()].toSorted());
  const more = buildSchema(
    printedSchema().replace("  rowCount: Int!", "  rowCount: Int!\n  more: LogConnection!"),
  );
  expect([...connectionsOf(more).keys()]).toContain("Dataset.more");
});

test("every list that can be read from its end is read from there", () => {
  const reversible = [...connections].filter(([, { field }]) =>
    field.args.some(({ name }) => name === "last"),
  );
  const tried = Object.entries(LISTS).filter(([, { isReversible }]) => isReversible);
  expect(tried.map(([name]) => name).toSorted()).toEqual(reversible.map(([name]) => name).toSorted());
});

test.each(Object.entries(LISTS))(
  "pages of %s have every entry once and in order, whatever is removed between them",
  { tags: "slow" },
  async (_, list) => {
    await using own = await startServer();
    await fill(own);
    const size = list.entity === "AuditEntry" ? 100 : 50;
    for (const isBackward of list.isReversible ? [false, true] : [false]) {
      const { nodes } = await pageOf(own, list, `first: ${size}`);
      const all = nodes.map(({ id }) => id);
      expect(all.length).toBeGreaterThanOrEqual(isBackward ? 3 : COUNT);
      const expected = isBackward ? all.toReversed() : all;
      const caller = list.entity === "AccessToken" ? all[0] : undefined;
      const seen: string[] = [];
      const removed = new Set<string>();
      for (let at: string | null = null; ; ) {
        const place = isBackward ? "before" : "after";
        const range = at === null ? "" : `, ${place}: "${at}"`;
        const page = await pageOf(own, list, `${isBackward ? "last" : "first"}: ${1 + below(3)}${range}`);
        expect(page.edges.map(({ node }) => node)).toEqual(page.nodes);
        const ids = page.nodes.map(({ id }) => id);
        expect(ids.some((id) => removed.has(id))).toBe(false);
        seen.push(...(isBackward ? ids.toReversed() : ids));
        const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo;
        expect([startCursor, endCursor]).toEqual([
          page.edges[0]?.cursor ?? null,
          page.edges.at(-1)?.cursor ?? null,
        ]);
        if (!(isBackward ? hasPreviousPage : hasNextPage)) break;
        at = isBackward ? startCursor : endCursor;
        // The entry that the cursor names, and any other one.
        for (const id of [seen.at(-1)!, expected[below(expected.length)]!].slice(below(2))) {
          if (id === caller || list.isRemovedWhole) continue;
          await remove(own, list, id);
          removed.add(id);
        }
      }
      expect(seen).toEqual(expected.filter((id) => seen.includes(id) || !removed.has(id)));
      expect(new Set(seen).size).toBe(seen.length);
    }
  },
);

test.each(Object.entries(LISTS))(
  "an empty page of %s has no cursors, and says what lies around it",
  async (_, list) => {
    const empty = await pageOf(server, list, "first: 0");
    expect(empty).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: true, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
    const { pageInfo } = await pageOf(server, list, "first: 1");
    const second = await pageOf(server, list, `first: 1, after: "${pageInfo.endCursor}"`);
    expect(second.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
  },
);

const UUID = "01890a5d-ac96-774b-bcce-b302099a8057";

test.each(
  Object.entries(LISTS).flatMap(([coordinate, list]) =>
    [
      ["no base64url", "\u00e9"],
      ["a slug in place of an id", /datasets|prompts/.test(coordinate) ? "=" : toCursor("entry-00")],
      ["padding", `${toCursor(`0 ${UUID}`)}==`],
    ].map(([what, cursor]) => {
      const page = list.query.replace("PAGE", `{ nodes ${nodeSelection(list)} }`);
      return [coordinate, what!, page, cursor!] as const;
    }),
  ),
)("a cursor of %s that is %s is BAD_INPUT", async (_, __, query, cursor) => {
  const answer = await server.run(query.replace("ARGUMENTS", `first: 5, after: ${JSON.stringify(cursor)}`));
  expect(answer).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path: "after", message: "is not a cursor of this list" }] },
  });
});

test.each(Object.entries(LISTS).filter(([, { isReversible }]) => isReversible))(
  "a page of %s with two ends is BAD_INPUT",
  async (_, { query }) => {
    const answer = await server.run(
      query.replace("ARGUMENTS", "first: 1, last: 1").replace("PAGE", "{ nodes { id } }"),
    );
    expect(answer).toMatchObject({ error: { code: "BAD_INPUT", details: [{ path: "last" }] } });
  },
);

test.each([
  ["before the year 1", `-62135596800001 ${UUID}`],
  ["after the year 9999", `253402300800000 ${UUID}`],
  ["of no time", `9999999999999999 ${UUID}`],
  ["with an id that is none", `0 ${"-".repeat(36)}`],
])("a cursor of logs %s is BAD_INPUT", async (_, key) => {
  for (const list of ["logs", "traces"])
    expect(await server.run(`{ ${list}(after: "${toCursor(key)}") { nodes { id } } }`)).toMatchObject({
      error: { code: "BAD_INPUT", details: [{ path: "after" }] },
    });
});

test("a cursor of another workspace leads to nothing of it", async () => {
  await addDataset(server, { slug: "theirs", columns, workspace: "other" });
  const { nodes } = (
    await server.graphql(
      `{ datasets(after: "${toCursor("theirs")}") { nodes { slug } } }`,
      {},
      { token: other.token },
    )
  ).body.data.datasets;
  expect(nodes).toEqual([]);
});

const adders = {
  datasets: (to: Server, slug: string) => addDataset(to, { slug, columns: [] }),
  prompts: (to: Server, slug: string) => addPrompt(to, { slug }),
};
test.each([
  ["datasets", 200],
  ["datasets", 201],
  ["prompts", 200],
  ["prompts", 201],
] as const)("REST lists all %s, in whatever number of pages they are read: %i", async (list, count) => {
  await using full = await startServer();
  const slugs = Array.from({ length: count }, (_, n) => `many-${String(n).padStart(3, "0")}`);
  for (const slug of slugs) await adders[list](full, slug);
  const { body } = await full.get(`/${list}`);
  expect(body[list].map(({ slug }: { slug: string }) => slug)).toEqual(slugs);
});
