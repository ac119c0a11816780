import type { GraphQLField } from "graphql";
import { schema } from "../../src/schema.ts";
import type { Scope } from "../../src/scopes.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import type { Fixtures } from "./fixtures.ts";

/** What an operation needs; a token with one scope alone never does what needs two. */
export type Needed = Scope | "read and write" | "read and admin";

export interface GraphqlRequest {
  query: string;
  variables: Record<string, unknown>;
}

export interface RestRequest {
  method: "GET" | "POST";
  path: string;
  body?: object;
}

export interface Operation<Request = GraphqlRequest | RestRequest> {
  /** The name of the field, or method and path of the route. */
  name: string;
  needed: Needed;
  /** How it is asked about these fixtures, so that it does what it is for. */
  request(fixtures: Fixtures): Request;
}

type Variables = Record<string, unknown>;
type Field = [
  needed: Needed,
  variables: (fixtures: Fixtures) => Variables,
  fields?: string,
  declared?: string,
];

const from = "2020-01-01T00:00:00Z";
const to = "9999-01-01T00:00:00Z";
const item = { values: { question: "one" }, idealOutput: "two", metadata: { three: 3 } };
const record = { input: "one", output: "two", metadata: { three: 3 } };
const row = "{ datasetRow { values idealOutput metadata } warning }";
const relations =
  "{ name logs { nodes { input output metadata trace { name } prompt { slug name versions { nodes { text } } } } } }";

const queries: Record<string, Field> = {
  accessTokens: [
    "admin",
    ({ accessToken }) => ({ before: toCursor(accessToken), last: 5 }),
    "{ nodes { name scopes } }",
  ],
  auditLog: [
    "admin",
    ({ auditEntry }) => ({ after: toCursor(auditEntry), first: 5 }),
    "{ nodes { action subject before after } }",
  ],
  checkup: ["read and admin", () => ({}), "{ findings { problem advice } findingCount }"],
  consoleSessions: [
    "admin",
    ({ session }) => ({ before: toCursor(session), last: 5 }),
    "{ nodes { accessToken { name } } }",
  ],
  dataset: [
    "read",
    ({ dataset, row }) => ({
      ...{ slug: dataset, version: 4, tag: "gate" },
      ...{ rowsAfter: toCursor(row), rowsFirst: 5 },
    }),
    "{ slug name version tags { label } protectedTags rowCount columns { name } rows(after: $rowsAfter, first: $rowsFirst) { nodes { values log { input } } } warning }",
    "$rowsAfter: String, $rowsFirst: Int",
  ],
  datasetDiff: [
    "read",
    ({ dataset, row }) => ({
      ...{ slug: dataset, from: { version: 2 }, to: { tag: "latest" } },
      ...{ first: 5, after: toCursor(row) },
    }),
    "{ nodes { kind before { values } after { values log { input } } } }",
  ],
  datasets: [
    "read",
    ({ dataset }) => ({ after: toCursor(dataset), first: 5, search: "a" }),
    "{ nodes { slug name rowCount } }",
  ],
  describePrompt: [
    "read",
    ({ prompt }) => ({ slug: prompt, version: "1.0.0", tag: "staging" }),
    "{ slug name description availableVersions availableTags variables { label } warning prompt { name } promptVersion { text } }",
  ],
  file: ["read", ({ file }) => ({ key: file }), "{ key name contentType sizeBytes downloadUrl }"],
  log: ["read", ({ log }) => ({ id: log }), "{ input output metadata trace { name } prompt { slug name } }"],
  logCounts: [
    "read",
    ({ prompt }) => ({ from, to, groupBy: "MODEL", filter: { slug: [prompt] }, first: 5 }),
    "{ nodes { key logs } }",
  ],
  logs: [
    "read",
    ({ log, prompt }) => ({
      filter: { slug: [prompt] },
      after: toCursor(`${Date.parse(to)} ${log}`),
      first: 5,
    }),
    "{ nodes { input output } }",
  ],
  modelPrices: [
    "read",
    ({ price, prompt }) => ({ after: toCursor(price), first: 5, model: prompt }),
    "{ nodes { model provider } }",
  ],
  node: ["read", ({ log }) => ({ id: log }), "{ id ... on Log { output } }"],
  nodes: [
    "read",
    ({ log, row }) => ({ ids: [log, row] }),
    "{ id ... on Log { output } ... on DatasetRow { values } }",
  ],
  prompt: [
    "read",
    ({ prompt }) => ({ slug: prompt }),
    "{ name versions { nodes { text } } tags { label } tagHistory { nodes { to token } } }",
  ],
  promptDiff: ["read", ({ prompt }) => ({ slug: prompt, from: "1.0.0", to: "2.0.0" })],
  prompts: [
    "read",
    ({ prompt }) => ({ after: toCursor(prompt), first: 5, featureSlug: "none", search: "a" }),
    "{ nodes { slug name latest { text } } }",
  ],
  rejectedItems: [
    "read",
    ({ rejectedItem }) => ({ before: toCursor(rejectedItem), last: 5 }),
    "{ nodes { endpoint client reason sample } }",
  ],
  renderPrompt: [
    "read",
    ({ prompt }) => ({
      slug: prompt,
      version: "1.0.0",
      tag: "staging",
      variables: [{ label: "name", value: "Amina" }],
      placeholders: [{ name: "history", messages: [{ role: "user", content: "Hello" }] }],
    }),
    "{ text systemText messages { role content name } warnings { message } prompt { name } promptVersion { text } }",
  ],
  servedPrompt: [
    "read",
    ({ prompt }) => ({ slug: prompt, version: "1.0.0", tag: "staging" }),
    "{ text systemText messages { content } warnings { message } prompt { name } promptVersion { text } }",
  ],
  trace: ["read", ({ trace }) => ({ id: trace }), relations],
  traces: [
    "read",
    ({ trace, prompt }) => ({
      filter: { slug: [prompt] },
      after: toCursor(`${Date.parse(to)} ${trace}`),
      first: 5,
    }),
    `{ nodes ${relations} }`,
  ],
  retention: ["admin", () => ({}), "{ days before traces run { removed } lastRun { removed token } }"],
  usage: [
    "read",
    ({ prompt }) => ({ from, to, groupBy: "PROMPT", slug: prompt, first: 5, timeZone: "UTC" }),
    "{ nodes { key logs cost totalTokens } }",
  ],
};

const mutations: Record<string, Field> = {
  addDatasetItem: ["write", ({ dataset, key }) => ({ slug: dataset, input: { ...item, key } }), row],
  addDatasetItems: [
    "write",
    ({ dataset, key }) => ({ slug: dataset, input: { items: [item, { ...item, key }] } }),
    "{ datasetRows { values } errors { index message } warnings { code message path } }",
  ],
  addLogToDataset: [
    "read and write",
    ({ log, dataset }) => ({
      slug: dataset,
      input: { logId: log, columns: [{ column: "question", from: "INPUT" }] },
    }),
    "{ datasetRow { values idealOutput metadata } warnings { message } }",
  ],
  createAccessToken: [
    "admin",
    () => ({ input: { name: "one", scopes: ["ADMIN"], expiresAt: to } }),
    "{ accessToken { name } }",
  ],
  createDataset: [
    "read and write",
    ({ unused }) => ({
      input: { slug: unused, name: "one", columns: [{ name: "question", type: "TEXT" }] },
    }),
    "{ dataset { slug rowCount rows { nodes { values } } } }",
  ],
  createExperiment: [
    "write",
    () => ({ input: { featureSlug: "one", name: "two" } }),
    "{ experiment { id name featureSlug } }",
  ],
  createPrompt: [
    "read and write",
    ({ unused }) => ({ input: { slug: unused, name: "one", description: "two", featureSlug: "three" } }),
    "{ prompt { slug availableVersions } }",
  ],
  createPromptVersion: [
    "write",
    ({ prompt }) => ({
      slug: prompt,
      input: { version: "3.0.0", text: "Hello", messages: [{ role: "user", content: "Hello" }] },
    }),
    "{ promptVersion { version text } warnings { message } }",
  ],
  deleteDataset: ["write", ({ spareDataset }) => ({ slug: spareDataset }), "{ deletedDatasetId }"],
  deleteDatasetItem: ["write", ({ spareRow }) => ({ id: spareRow }), "{ deletedDatasetItemId }"],
  deleteModelPrice: ["admin", ({ sparePrice }) => ({ id: sparePrice }), "{ deletedModelPriceId }"],
  deletePrompt: ["write", ({ sparePrompt }) => ({ slug: sparePrompt }), "{ deletedPromptId }"],
  logPrompt: [
    "write",
    ({ prompt }) => ({ input: { slug: prompt, ...record } }),
    "{ log { input output } trace { name } warning }",
  ],
  logTrace: [
    "write",
    ({ prompt }) => ({ input: traceOf(prompt, "GENERATION") }),
    "{ trace { id logCount logs { nodes { id depth } } } warning }",
  ],
  publishPrompt: [
    "write",
    ({ prompt }) => ({ slug: prompt, input: { newTag: "one", to: { version: "1.0.0" } } }),
    "{ promptTag { label version } prompt { name } }",
  ],
  removeDatasetTag: [
    "write",
    ({ dataset }) => ({ slug: dataset, input: { tag: "spare" } }),
    "{ deletedDatasetTagId dataset { name } }",
  ],
  removePromptTag: [
    "write",
    ({ prompt }) => ({ slug: prompt, input: { tag: "spare" } }),
    "{ deletedPromptTagId prompt { name } }",
  ],
  pruneTraces: [
    "admin",
    () => ({ input: { before: from, dryRun: false } }),
    "{ before traces dryRun warnings { code } }",
  ],
  repriceLogs: [
    "admin",
    () => ({ input: { from, to, dryRun: false } }),
    "{ examined changed costBefore costAfter }",
  ],
  endConsoleSession: ["admin", ({ session }) => ({ id: session }), "{ deletedConsoleSessionId }"],
  revokeAccessToken: ["admin", ({ accessToken }) => ({ id: accessToken }), "{ accessToken { name } }"],
  rollbackPromptTag: [
    "write",
    ({ prompt }) => ({ slug: prompt, input: { tag: "staging" } }),
    "{ promptTag { label version } prompt { name } }",
  ],
  setDatasetTagProtection: [
    "publish",
    ({ dataset }) => ({ slug: dataset, input: { tag: "gate", protected: true } }),
    "{ protectedTags dataset { protectedTags } }",
  ],
  setModelPrice: [
    "admin",
    ({ prompt }) => ({
      input: { model: prompt, provider: "one", inputPrice: 1, outputPrice: 2, validFrom: from },
    }),
    "{ modelPrice { model provider inputPrice } }",
  ],
  setTagProtection: [
    "publish",
    ({ prompt }) => ({ slug: prompt, input: { tag: "staging", protected: true } }),
    "{ protectedTags prompt { protectedTags } }",
  ],
  tagDatasetVersion: [
    "write",
    ({ dataset }) => ({ slug: dataset, input: { tag: "one", to: { version: 1 } } }),
    "{ datasetTag { label version } dataset { name } }",
  ],
  updateDataset: [
    "read and write",
    ({ dataset }) => ({
      slug: dataset,
      input: {
        name: "one",
        addColumns: [{ name: "added", type: "TEXT" }],
        removeColumns: [],
        renameColumns: [{ from: "answer", to: "reply" }],
      },
    }),
    "{ dataset { slug columns { name } rows { nodes { values } } } }",
  ],
  updateDatasetItem: [
    "read and write",
    ({ row }) => ({ id: row, input: { name: "one", ...item } }),
    "{ datasetRow { values metadata } warnings { message } }",
  ],
  updatePrompt: [
    "read and write",
    ({ prompt }) => ({
      slug: prompt,
      input: { name: "one", description: "two", featureSlug: "three" },
    }),
    "{ prompt { slug description versions { nodes { text } } } }",
  ],
};

/** A trace of one call; the two APIs write its type in different cases. */
function traceOf(prompt: string, type: string) {
  const { output, input, metadata } = record;
  return {
    ...{ name: "one", featureSlug: "two", input, output, metadata },
    logs: [{ id: "1", type, prompt: { slug: prompt }, ...{ input, output, metadata } }],
  };
}

/** A request of OpenTelemetry with one span of a call with a prompt. */
function spansOf(prompt: string) {
  const attributes = [{ key: "gabbro.prompt.slug", value: { stringValue: prompt } }];
  const ids = { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" };
  const spans = [{ ...ids, name: "one", startTimeUnixNano: "1772359200000000000", attributes }];
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}

const subscriptions: Record<string, Field> = {
  traceChanged: ["read", ({ trace }) => ({ id: trace }), "{ id name depth }"],
  logAdded: ["read", ({ prompt }) => ({ slug: prompt }), "{ input output trace { name } }"],
  promptChanged: ["read", ({ prompt }) => ({ slug: prompt }), "{ action tag version etag }"],
};

/** Every route that needs a token, but for `/graphql` itself. */
export const restOperations: Operation<RestRequest>[] = [
  ...get("/datasets"),
  ...get("/datasets/:slug", ({ dataset }) => `/datasets/${dataset}`),
  ...get("/prompts", () => "/prompts?featureSlug=none"),
  ...get("/prompts/:slug", ({ prompt }) => `/prompts/${prompt}?version=1.0.0&tag=staging`),
  ...get("/prompts/:slug/describe", ({ prompt }) => `/prompts/${prompt}/describe?version=1.0.0&tag=staging`),
  post("/files/generate-upload-url", () => [
    "/files/generate-upload-url",
    { fileName: "one.jpg", contentType: "image/jpeg", sizeBytes: 1 },
  ]),
  post("/datasets/:slug/items", ({ dataset, key }) => [`/datasets/${dataset}/items`, { ...item, key }]),
  ...["/v1/traces", "/api/public/otel/v1/traces"].map((path) =>
    post(path, ({ prompt }) => [path, spansOf(prompt)]),
  ),
  ...["/v1/logs", "/v1/metrics"].map((path) => post(path, () => [path, {}])),
  post("/prompts/:slug/publish", ({ prompt }) => [
    `/prompts/${prompt}/publish`,
    { newTag: "one", version: "1.0.0" },
  ]),
  post("/monitor/experiments", () => ["/monitor/experiments", { featureSlug: "one", name: "two" }]),
  post("/monitor/log", ({ prompt }) => ["/monitor/log", { slug: prompt, ...record }]),
  post("/monitor/trace", ({ prompt }) => ["/monitor/trace", traceOf(prompt, "generation")]),
];

function get(route: string, path: (fixtures: Fixtures) => string = () => route): Operation<RestRequest>[] {
  return [
    {
      name: `GET ${route}`,
      needed: "read",
      request: (fixtures) => ({ method: "GET", path: path(fixtures) }),
    },
  ];
}

function post(
  route: string,
  made: (fixtures: Fixtures) => [path: string, body: object],
): Operation<RestRequest> {
  const request = (fixtures: Fixtures) => {
    const [path, body] = made(fixtures);
    return { method: "POST" as const, path, body };
  };
  return { name: `POST ${route}`, needed: "write", request };
}

function operationsOf(
  kind: "query" | "mutation" | "subscription",
  roots: Record<string, GraphQLField<unknown, unknown>>,
  known: Record<string, Field>,
): Operation<GraphqlRequest>[] {
  return Object.entries(known).map(([name, [needed, variables, fields = "", declared = ""]]) => {
    const args = roots[name]?.args ?? [];
    const all = [...args.map((arg) => `$${arg.name}: ${arg.type}`), ...(declared ? [declared] : [])];
    const passed = args.map((arg) => `${arg.name}: $${arg.name}`);
    const within = (parts: string[]) => (parts.length > 0 ? `(${parts.join(", ")})` : "");
    const query = `${kind} ${name}${within(all)} { ${name}${within(passed)} ${fields} }`;
    return { name, needed, request: (fixtures: Fixtures) => ({ query, variables: variables(fixtures) }) };
  });
}

const root = (kind: "Query" | "Mutation" | "Subscription") => schema[`get${kind}Type`]()!.getFields();

export const queryOperations = operationsOf("query", root("Query"), queries);
export const mutationOperations = operationsOf("mutation", root("Mutation"), mutations);
export const subscriptionOperations = operationsOf("subscription", root("Subscription"), subscriptions);

/** All of GraphQL. */
export const graphqlOperations = [...queryOperations, ...mutationOperations, ...subscriptionOperations];

/** The fields of the schema that are in no list above. */
export function unlistedFields(): string[] {
  const listed = new Set(graphqlOperations.map(({ name }) => name));
  return (["Query", "Mutation", "Subscription"] as const)
    .flatMap((kind) => Object.keys(root(kind)))
    .filter((name) => !listed.has(name));
}
