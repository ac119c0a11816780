import { afterAll, expect, test } from "vitest";
import { createSignInLink } from "../../src/console/links.resolvers.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { schema } from "../../src/schema.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { startServer } from "../support/server.ts";
import { captureStatements, type Statement } from "../support/statements.ts";

const server = await startServer({ console: true });
afterAll(() => server[Symbol.asyncDispose]());

/** Each with the words that only such a statement has, and why it may do without the workspace. */
const exceptions: [RegExp, string][] = [
  [
    /from "access_tokens"(?: as "\w+")? where "hash" (?:= |in \()/,
    "tokens are found by their hashes, which determine the workspace",
  ],
  [
    /from "(?:console_sessions|sign_in_links)" .*"hash" (?:= |in \()/,
    "a session and a link that signs in are found by their hashes, which determine the workspace",
  ],
  [
    /^select "id", "name", "hash", "workspace_id", .* from "access_tokens" where "id" in \([^)]+\)$/,
    "the token of a session or a link that was found by its hash",
  ],
  [
    /^(?:update|delete from) "(?!logs|traces)\w+" (?:set .* )?where "id" (?:= |in \()'[\da-f-]{36}'/,
    "a unit of work changes by its key what it has read in this transaction, held to the workspace; the ORM alone writes values into the statement",
  ],
  [
    /^insert into log_texts \(rowid, workspace, input, output\) select search_id, workspace, .* from log_words where search_id > \?$/,
    "the words of rows that the same transaction has just stored, each with the workspace of its row",
  ],
  [
    /^insert into log_texts \(rowid, workspace, input, output\) values \(\?, \?, \?, \?\)$/,
    "the words of one such row",
  ],
];

const tables = [...server.database.orm.getMetadata()]
  .filter(({ properties }) => properties && "workspace" in properties)
  .map(({ tableName }) => tableName);
const owned = [...tables, "log_texts"];

/** What is wrong with a statement; it is right when it names the workspace for each table that belongs to one. */
function faultOf({ sql }: Statement): string | null {
  const statement = sql.replaceAll(/[`"]/g, '"').replaceAll(/\s+/g, " ");
  if (exceptions.some(([pattern]) => pattern.test(statement))) return null;
  const named = owned.join("|");
  const inserted = new RegExp(`^insert into "?(?:${named})"? \\(([^)]*)\\)`).exec(statement);
  if (inserted) return inserted[1]!.includes("workspace_id") ? null : statement;
  const touched =
    statement.match(new RegExp(`\\b(?:from|join|update|into|using) "?(?:${named})\\b`, "g")) ?? [];
  const names = statement.match(/workspace_id"?\)* (?:=|in) |"?workspace_id"?, "?workspace_id"?\) = /g);
  return touched.length <= (names?.length ?? 0) ? null : statement;
}

const called = new Set<string>();
let sending: "once" | "twice, with a key" = "once";
let keys = 0;
async function run(root: string, args: Record<string, unknown> = {}, fields = "") {
  called.add(root);
  const kind = schema.getMutationType()!.getFields()[root] ? "mutation" : "query";
  const field = (schema.getMutationType()!.getFields()[root] ?? schema.getQueryType()!.getFields()[root])!;
  const isPage = String(field.type).includes("Connection");
  const query = `${kind} { ${root}${written(args)} ${isPage ? `{ nodes ${fields} }` : fields} }`;
  const headers: Record<string, string> = {};
  if (kind === "mutation" && sending !== "once") {
    keys += 1;
    headers["idempotency-key"] = `key-${keys}`;
  }
  const { body } = await server.graphql(query, {}, { headers });
  expect(body.errors).toBeUndefined();
  if (headers["idempotency-key"]) {
    const again = await server.graphql(query, {}, { headers });
    const replayed = (args.input as { dryRun?: boolean } | undefined)?.dryRun ? undefined : "true"; // which writes nothing, and so keeps no answer
    expect([root, again.headers["idempotent-replayed"], again.body]).toEqual([root, replayed, body]);
  }
  return isPage ? body.data[root].nodes : body.data[root];
}

/** Arguments as GraphQL writes them; what stands between < and > is a value of an enum. */
function written(args: Record<string, unknown>): string {
  const names = Object.entries(args);
  if (names.length === 0) return "";
  const text = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(text)}]`;
    if (typeof value === "object" && value !== null)
      return `{${Object.entries(value).map(([name, member]) => `${name}: ${text(member)}`)}}`;
    return /^<.*>$/.test(String(value)) ? String(value).slice(1, -1) : JSON.stringify(value);
  };
  return `(${names.map(([name, value]) => `${name}: ${text(value)}`)})`;
}

const times = { from: "2026-01-01", to: "2036-01-01" };

async function everyPrompt(): Promise<void> {
  const model = { provider: "openai", model: "gpt-4o-mini" };
  await run("createPrompt", { input: { slug: "a", name: "A" } }, "{ prompt { slug } }");
  for (const version of ["1", "2"])
    await run(
      "createPromptVersion",
      { slug: "a", input: { version, text: `Hello {{ name }} ${version}`, model } },
      "{ warnings { message } }",
    );
  await run(
    "publishPrompt",
    { slug: "a", input: { newTag: "production", to: { version: "1" } } },
    "{ promptTag { label } }",
  );
  await run(
    "publishPrompt",
    { slug: "a", input: { newTag: "production", to: { version: "2" } } },
    "{ promptTag { label } }",
  );
  await run("rollbackPromptTag", { slug: "a", input: { tag: "production" } }, "{ prompt { slug } }");
  await run(
    "publishPrompt",
    { slug: "a", input: { newTag: "old", to: { version: "1" } } },
    "{ promptTag { label } }",
  );
  await run("setTagProtection", { slug: "a", input: { tag: "old", protected: true } }, "{ protectedTags }");
  await run("setTagProtection", { slug: "a", input: { tag: "old", protected: false } }, "{ protectedTags }");
  await run("removePromptTag", { slug: "a", input: { tag: "old" } }, "{ deletedPromptTagId }");
  await run("updatePrompt", { slug: "a", input: { name: "A2", featureSlug: "f" } }, "{ prompt { slug } }");
  const all =
    "{ slug availableVersions availableTags protectedTags latest { text } production { text } tagHistory { nodes { to } } tags { label version } versions { nodes { text } } }";
  await run("prompt", { slug: "a" }, all);
  const described = `{ availableVersions availableTags variables { label } promptVersion { text } prompt ${all} }`;
  await run("describePrompt", { slug: "a", tag: "latest" }, described);
  await run("prompts", { first: 1, featureSlug: "f", search: "a" }, all);
  await run("prompts", { after: toCursor("a"), last: 1 }, all);
  await run("promptDiff", { slug: "a", from: "1", to: "2" });
  await run("renderPrompt", { slug: "a", variables: [{ label: "name", value: "B" }] }, "{ text }");
  await run("servedPrompt", { slug: "a" }, "{ text }");
}

async function everyDataset(): Promise<void> {
  const columns = [{ name: "q", type: "<TEXT>" }];
  await run("createDataset", { input: { slug: "d", columns } }, "{ dataset { slug } }");
  await run(
    "updateDataset",
    {
      slug: "d",
      input: {
        name: "D",
        addColumns: [
          { name: "b", type: "<TEXT>" },
          { name: "c", type: "<TEXT>" },
        ],
        renameColumns: [{ from: "q", to: "r" }],
      },
    },
    "{ dataset { slug } }",
  );
  await run("updateDataset", { slug: "d", input: { removeColumns: ["c"] } }, "{ dataset { slug } }");
  for (const key of ["<null>", "k", "k"])
    await run(
      "addDatasetItem",
      { slug: "d", input: { values: { r: `x${key}` }, key } },
      "{ datasetRow { id log { id } } }",
    );
  const items = ["k", "l", "l"].map((key) => ({ values: { r: 1 }, key }));
  await run("addDatasetItems", { slug: "d", input: { items } }, "{ datasetRows { id } }");
  const rows = "{ id slug rowCount rows(first: 2) { nodes { id key log { id } } } }";
  const read = await run("dataset", { slug: "d" }, rows);
  const [{ id }] = read.rows.nodes;
  await run("dataset", { slug: "d" }, `{ rows(first: 2, after: "${toCursor(id)}") { nodes { id } } }`);
  await run("datasets", { search: "d", first: 2 }, rows);
  await run("datasets", { before: toCursor("d"), last: 1 }, "{ rowCount }");
  await run("updateDatasetItem", { id, input: { name: "n", values: { r: "y" } } }, "{ datasetRow { id } }");
  await run("nodes", { ids: [id] }, "{ id }");
  await run("deleteDatasetItem", { id }, "{ deletedDatasetItemId }");
  const tagged = "{ datasetTag { label } dataset { tags { label } protectedTags } }";
  await run("tagDatasetVersion", { slug: "d", input: { tag: "t", to: { version: 2 } } }, tagged);
  await run("tagDatasetVersion", { slug: "d", input: { tag: "t", to: { tag: "t" } } }, tagged);
  await run("dataset", { slug: "d", version: 1 }, "{ version columns { name } }");
  await run("dataset", { slug: "d", version: 7 }, `{ version columns { name } ${rows.slice(1)}`);
  await run("dataset", { slug: "d", tag: "t" }, rows);
  await run("nodes", { ids: [`${id}@7`, `${read.id}@1`] }, "{ id }");
  const sides = "{ before { values } after { values } }";
  await run("datasetDiff", { slug: "d", from: { version: 3 }, to: { tag: "latest" } }, sides);
  await run(
    "setDatasetTagProtection",
    { slug: "d", input: { tag: "t", protected: false } },
    "{ protectedTags }",
  );
  await run("removeDatasetTag", { slug: "d", input: { tag: "t" } }, "{ deletedDatasetTagId }");
}

async function everyLog(): Promise<void> {
  const party = { id: "u", name: "U" };
  const input = {
    slug: "a",
    input: "hello world",
    output: "you",
    user: party,
    organization: party,
    metadata: { m: 1 },
  };
  const relations =
    "{ id prompt { slug versions { nodes { version } } } trace { id logs { nodes { id } } } }";
  const first = await run("logPrompt", { input }, `{ log ${relations} trace { id logs { nodes { id } } } }`);
  await run("logPrompt", { input: { ...input, slug: "none" } }, "{ log { id } }");
  const tree =
    "depth parentId subtree { cost } inputPreview attributes events { name } reportedUsage { inputTokens }";
  const { experiment } = await run(
    "createExperiment",
    { input: { featureSlug: "f", name: "e" } },
    "{ experiment { id } }",
  );
  const logs = [
    { id: "1", type: "<AGENT>", inputTokens: 1 },
    { id: "2", parentId: "1", type: "<GENERATION>", prompt: { slug: "a" }, output: "x" },
  ];
  await run(
    "logTrace",
    { input: { experiment, logs } },
    `{ trace { logCount cost root { id } experiment { id } logs { nodes { id ${tree} } } } }`,
  );
  await run("node", { id: experiment.id }, "{ id }");
  await run("log", { id: first.log.id }, relations);
  await run("trace", { id: first.trace.id }, `{ logs { nodes ${relations} } }`);
  const filters = [
    {},
    ...[{ slug: "a" }, { userId: "u" }, { organizationId: "u" }, { version: "1" }, { tag: "production" }],
    ...[{ type: "<GENERATION>" }, times, { minCost: 0, maxCost: 1, minLatencyMs: 0, maxLatencyMs: 9 }],
    ...[{ text: "hello" }, { text: '"hello world" yo*', slug: "a" }],
    ...[{ metadata: [{ key: "m", value: 1 }] }, { metadata: [{ key: "m", value: 1 }], userId: "u" }],
  ];
  for (const filter of filters) {
    await run("logs", { filter, first: 5 }, relations);
    await run("traces", { filter, first: 5 }, "{ id logs { nodes { id } } }");
  }
  const after = toCursor(`${Date.now()} ${first.log.id}`);
  await run("logs", { after }, "{ id }");
  await run("traces", { after }, "{ id }");
  for (const by of ["DAY", "PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION"])
    await run(
      "usage",
      { from: "2026-11-01", to: "2026-11-03", groupBy: `<${by}>`, slug: "a" },
      "{ key logs }",
    );
  await run("usage", times, "{ logs }");
  await run("logCounts", { ...times, groupBy: "<STATUS>" }, "{ key logs }");
  const columns = [{ column: "r", from: "<INPUT>" }];
  await run(
    "addLogToDataset",
    { slug: "d", input: { logId: first.log.id, columns } },
    "{ datasetRow { id log { id } } }",
  );
  await run("dataset", { slug: "d" }, "{ rows(first: 5) { nodes { id log { id trace { id } } } } }");
}

async function everythingElse(): Promise<void> {
  const price = { model: "gpt-4o-mini", inputPrice: 1, outputPrice: 2 };
  const { id } = (await run("setModelPrice", { input: price }, "{ modelPrice { id } }")).modelPrice;
  await run("setModelPrice", { input: price }, "{ modelPrice { id } }");
  await run("modelPrices", { model: "gpt", first: 2 }, "{ id }");
  await run("modelPrices", { after: toCursor(id) }, "{ id }");
  await run("repriceLogs", { input: { ...times, dryRun: true } }, "{ examined }");
  await run("repriceLogs", { input: times }, "{ changed }");
  await run("pruneTraces", { input: { before: "2000-01-01", dryRun: true } }, "{ traces }");
  await run("pruneTraces", { input: { before: "2000-01-01" } }, "{ traces }");
  await run("retention", {}, "{ traces oldestStartTime lastRun { removed } }");
  await run("deleteModelPrice", { id }, "{ deletedModelPriceId }");
  const token = await run(
    "createAccessToken",
    { input: { name: "t", scopes: ["<READ>"] } },
    "{ accessToken { id } }",
  );
  await run("accessTokens", { last: 1 }, "{ id }");
  await run("revokeAccessToken", { id: token.accessToken.id }, "{ accessToken { id } }");
  const [entry] = await run("auditLog", { first: 1 }, "{ id }");
  await run("node", { id: entry.id }, "{ id }");
  await run("auditLog", { after: toCursor(entry.id) }, "{ id }");
}

async function everyFile(): Promise<void> {
  const file = { fileName: "a.jpg", contentType: "image/jpeg" };
  const { body } = await server.post("/files/generate-upload-url", file);
  const upload = () =>
    server.request("PUT", body.uploadUrl.replace("http://localhost", ""), "x", {
      token: null,
      headers: { "content-type": file.contentType },
    });
  for (const answer of await Promise.all([upload(), upload()])) expect(answer.status).toBe(200);
  const { downloadUrl } = await run("file", { key: body.fileKey }, "{ downloadUrl }");
  expect((await server.get(downloadUrl.replace("http://localhost", ""), { token: null })).status).toBe(200);
}

async function everyRejection(): Promise<void> {
  expect((await server.post("/monitor/log", { slug: 1 })).status).toBe(400);
  await storeRejected(server.database);
  const [{ id }] = await run("rejectedItems", { first: 1 }, "{ id }");
  await run("node", { id }, "{ id }");
  await run("rejectedItems", { after: toCursor(id) }, "{ id }");
  await run("checkup", {}, "{ findings { problem } }");
}

async function everySession(): Promise<void> {
  const own = { host: "localhost:3001", "sec-fetch-site": "same-origin" };
  const code = await createSignInLink(server.database, server.token);
  for (const body of [{ code }, { token: server.token }]) {
    const { headers } = await server.post("/console/session", body, { token: null, headers: own });
    const cookie = String(headers["set-cookie"]).split(";", 1)[0]!;
    const call = { token: null, headers: { ...own, cookie } };
    expect((await server.get("/console/session", call)).body.session.workspace).toBe("default");
    expect((await server.request("DELETE", "/console/session", undefined, call)).status).toBe(204);
  }
  await server.post("/console/session", { token: server.token }, { token: null, headers: own });
  const [{ id }] = await run("consoleSessions", { last: 1 }, "{ id accessToken { name } }");
  await run("consoleSessions", { after: toCursor(id) }, "{ id }");
  await run("node", { id }, "{ id }");
  await run("endConsoleSession", { id }, "{ deletedConsoleSessionId }");
}

async function rest(): Promise<void> {
  for (const path of ["/datasets", "/datasets/d", "/prompts", "/prompts/a", "/prompts/a/describe?version=1"])
    expect((await server.get(path)).status).toBe(200);
  const row = await server.post("/datasets/d/items", { values: { r: "z" } });
  const log = await server.post("/monitor/log", { slug: "a", output: "x", inputTokens: 1, outputTokens: 1 });
  const trace = await server.post("/monitor/trace", { logs: [{ id: "1", type: "span" }] });
  const experiment = await server.post("/monitor/experiments", { featureSlug: "f", name: "e" });
  expect([trace.status, experiment.status]).toEqual([200, 200]);
  const publish = await server.post("/prompts/a/publish", { newTag: "rest", version: "1" });
  expect([row.status, log.status, publish.status]).toEqual([201, 200, 201]);
  const keyed = { headers: { "idempotency-key": `rest ${sending}`.replaceAll(" ", "-") } };
  for (const replayed of [undefined, "true"]) {
    const { headers } = await server.post("/prompts/a/publish", { newTag: "keyed", version: "1" }, keyed);
    expect(headers["idempotent-replayed"]).toBe(replayed);
  }
}

async function deletions(): Promise<void> {
  await run("deleteDataset", { slug: "d" }, "{ deletedDatasetId }");
  await run("deletePrompt", { slug: "a" }, "{ deletedPromptId }");
}

test.each(["once", "twice, with a key"] as const)(
  "every statement of every operation, sent %s, names the workspace for each table that belongs to one",
  async (how) => {
    sending = how;
    const stop = await captureStatements(server);
    for (const part of [
      ...[everyPrompt, everyDataset, everyLog, everyFile],
      ...[everythingElse, everyRejection, everySession, rest, deletions],
    ])
      await part();
    const statements = stop();
    const faults = new Set(statements.map(faultOf).filter((fault) => fault !== null));
    expect([...faults]).toEqual([]);
    const touched = tables.filter((table) =>
      statements.some(({ sql }) => new RegExp(`["\`]${table}["\`]`).test(sql)),
    );
    expect(touched.toSorted()).toEqual(tables.toSorted());
    const all = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type!.getFields()),
    );
    expect([...called].toSorted()).toEqual(all.toSorted());
  },
);
