import { readFile } from "node:fs/promises";
import {
  type GraphQLObjectType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  parse,
  validate,
} from "graphql";
import { afterAll, expect, test } from "vitest";
import { examples } from "../../src/graphiql/examples.ts";
import { printedSchema, schema } from "../../src/schema.ts";
import { startServer } from "../support/server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

test("schema.graphql is the schema as it is served; when it is not, run: npm run schema > schema.graphql", async () => {
  expect(await readFile(new URL("../../schema.graphql", import.meta.url), "utf8")).toBe(printedSchema());
});

test("every type, field, argument, input field and enum value is described", () => {
  const bare: string[] = [];
  const check = (what: string, { description }: { description?: string | null | undefined }) => {
    if (!description) bare.push(what);
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue;
    check(type.name, type);
    if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field);
        if ("args" in field)
          for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name})`, arg);
      }
    }
    // The words of REST stand in these enums as they are; their types describe them.
    if (isEnumType(type) && !["ColumnType", "LogType"].includes(type.name)) {
      for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
    }
  }
  expect(bare).toEqual([]);
});

test("the schema has the operations of the interface with exactly their arguments", () => {
  const signature = (type: GraphQLObjectType | null | undefined, name: string) => {
    const { args, type: answer } = type!.getFields()[name]!;
    return `${name}(${args.map((arg) => `${arg.name}: ${arg.type}`).toSorted()}): ${answer}`;
  };
  expect(
    ["dataset", "describePrompt", "log", "trace"].map((name) => signature(schema.getQueryType(), name)),
  ).toEqual([
    "dataset(slug: String!,tag: String,version: Int): Dataset",
    "describePrompt(slug: String!,tag: String,version: String): PromptDescription",
    "log(id: ID!): Log",
    "trace(id: ID!): Trace",
  ]);
  expect(["addDatasetItem", "logPrompt"].map((name) => signature(schema.getMutationType(), name))).toEqual([
    "addDatasetItem(input: DatasetItemInput!,slug: String!): AddDatasetItemPayload!",
    "logPrompt(input: LogPromptInput!): LogPromptPayload!",
  ]);
});

// As README had them before lists became connections: only the rows are read in another way.
test.each([
  [
    "dataset",
    `query { dataset(slug: "country-quiz") {
      name columns { name type } rowCount rows(first: 2) { nodes { id values idealOutput metadata } } warning
    } }`,
  ],
  [
    "addDatasetItem",
    `mutation { addDatasetItem(
      slug: "country-quiz"
      input: { values: { question: "Which country has Nairobi as its capital?" }, idealOutput: "Kenya" }
    ) { datasetRow { id values idealOutput } warning } }`,
  ],
  [
    "describePrompt",
    `query { describePrompt(slug: "country-guide", tag: "production") {
      name status version availableVersions availableTags variables { label type description } warning
    } }`,
  ],
  [
    "logPrompt",
    `mutation { logPrompt(
      input: { slug: "country-guide", input: "What is the capital of Kenya?", output: "Nairobi." }
    ) { log { id inputTokens outputTokens cost costSource } trace { id } warning } }`,
  ],
])("a query of %s that was written by the first README runs", async (name, query) => {
  const { body } = await server.graphql(query);
  expect(body.errors).toBeUndefined();
  expect(body.data[name].warning).toBeNull();
});

test("the playground's examples fit the schema", () => {
  for (const { query } of examples) expect(validate(schema, parse(query))).toEqual([]);
});

test("GET /openapi.json describes REST in OpenAPI 3.1, without a token", async () => {
  const { status, body } = await server.get("/openapi.json", { token: null });
  expect(status).toBe(200);
  expect(body.openapi).toMatch(/^3\.1\./);
  const operations = Object.entries<Record<string, { operationId: string }>>(body.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`,
      ),
  );
  expect(operations.toSorted()).toEqual([
    "GET /auth/verify verifyToken",
    "GET /datasets datasets",
    "GET /datasets/{slug} dataset",
    "GET /files/download/datasets/{workspaceId}/{name} downloadFile",
    "GET /prompts prompts",
    "GET /prompts/{slug} servedPrompt",
    "GET /prompts/{slug}/describe describePrompt",
    "GET /prompts/{slug}/events promptChanged",
    "POST /auth/verify verifyTokenByPost",
    "POST /datasets/{slug}/items addDatasetItem",
    "POST /files/generate-upload-url generateUploadUrl",
    "POST /monitor/experiments createExperiment",
    "POST /monitor/log logPrompt",
    "POST /monitor/trace logTrace",
    "POST /prompts/{slug}/publish publishPrompt",
    "PUT /files/upload/datasets/{workspaceId}/{name} uploadFile",
  ]);
});

test("every example in the OpenAPI document is accepted by the operation that it documents", async () => {
  const { body } = await server.get("/openapi.json");
  const { schemas } = body.components;
  const exampleOf = (path: string) => {
    const { schema: input } = body.paths[path].post.requestBody.content["application/json"];
    const resolved = input.$ref ? schemas[input.$ref.split("/").at(-1)] : input;
    return resolved.example;
  };
  const row = await server.post("/datasets/country-quiz/items", exampleOf("/datasets/{slug}/items"));
  expect(row.status).toBe(201);
  const file = await server.post("/files/generate-upload-url", exampleOf("/files/generate-upload-url"));
  expect(file.status).toBe(200);
  const log = await server.post("/monitor/log", exampleOf("/monitor/log"));
  expect(log).toMatchObject({ status: 200, body: { warning: null } });
});

test("every reference in the OpenAPI document leads somewhere", async () => {
  const { body } = await server.get("/openapi.json");
  const references = JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g);
  // biome-ignore lint/suspicious/noExplicitAny: a document of any shape
  const follow = (path: string) => path.split("/").reduce((node: any, step) => node?.[step], body);
  const broken = [...references].map(([, path]) => path!).filter((path) => follow(path) === undefined);
  expect(broken).toEqual([]);
});

test("errors have the type application/json in the OpenAPI document, whatever their operation returns", async () => {
  const { body } = await server.get("/openapi.json");
  const responses = Object.entries<Record<string, { responses: Record<string, { content: object }> }>>(
    body.paths,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      Object.entries(operation.responses).map(
        ([status, { content }]) => [`${method} ${path} ${status}`, Object.keys(content)] as const,
      ),
    ),
  );
  const others = responses.filter(([, types]) => types.join() !== "application/json");
  expect(Object.fromEntries(others)).toEqual({
    "get /files/download/datasets/{workspaceId}/{name} 200": ["*/*"],
    "get /prompts/{slug}/events 200": ["text/event-stream"],
  });
});

test.each<[time: string | number, isAccepted: boolean]>([
  ["", true],
  ["2026-01-31", true],
  ["2026-02-29", false],
  ["2024-02-29", true],
  ["0000-01-01", false],
  ["0001-01-01", true],
  ["2026-01-31T09:30", true],
  ["2026-01-31 09:30:00.5", true],
  ["2026-01-31t09:30:00z", true],
  ["2026-01-31T09:30:00+0130", true],
  ["2026-01-31T09:30:00-05", true],
  ["2026-01-31T09:30:00+05:30", true],
  ["2026-01-31 09:30:00 +02:00", false],
  ["2026-01-31T24:00", false],
  ["2026-01-31T", false],
  ["2026-01-31Z", false],
  ["2026-01-3\u0661", false],
  [`2026-01-31T09:30:00.${"1".repeat(44)}`, true],
  [`2026-01-31T09:30:00.${"1".repeat(45)}`, false],
  ["1770000000000", true],
  [-62_135_596_800_000, true],
  [-62_135_596_800_001, false],
  [253_402_300_799_999, true],
  [253_402_300_800_000, false],
])("the OpenAPI document states that the time %j is accepted: %s", async (time, isAccepted) => {
  const { status } = await server.post("/monitor/log", { slug: "any", output: "x", startTime: time });
  expect(status).toBe(isAccepted ? 200 : 400);
  const { body } = await server.get("/openapi.json");
  const { anyOf } = body.components.schemas.LogPromptInput.properties.startTime;
  const { pattern, maxLength, minimum, maximum } = anyOf.find(
    ({ type }: { type: string }) => type === typeof time,
  );
  const isStated =
    typeof time === "string"
      ? new RegExp(pattern).test(time) && time.length <= maxLength
      : time >= minimum && time <= maximum;
  expect(isStated).toBe(isAccepted);
});

test("GET /docs shows the REST interface from this server alone", async () => {
  const page = await server.get("/docs/", { token: null });
  expect(page.status).toBe(200);
  const policy = page.headers["content-security-policy"] as string;
  expect(policy).toContain("default-src 'self'");
  expect(policy).not.toMatch(/unsafe-eval|script-src|\*|https?:/);
  const links = [...(page.body as string).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
  expect(links.length).toBeGreaterThan(3);
  for (const link of links) {
    const { origin, pathname } = new URL(link, `${server.url}/docs/`);
    expect(origin).toBe(server.url);
    expect((await server.get(pathname, { token: null })).status).toBe(200);
  }
});
