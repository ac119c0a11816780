import { once } from "node:events";
import fs from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { afterAll, expect, test, vi } from "vitest";
import { startServer } from "../support/server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

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

/** What the OpenAPI document says of the body of a request, with the schemas that it refers to. */
async function bodySchemaOf(path: string) {
  const { body } = await server.get("/openapi.json");
  const { schema: input } = body.paths[path].post.requestBody.content["application/json"];
  const { schemas } = body.components;
  return { ...(input.$ref ? schemas[input.$ref.split("/").at(-1)] : input), schemas };
}

test.each([
  [
    "a key with the character NUL",
    "/datasets/{slug}/items",
    { values: { "a\0": 1 } },
    {
      properties: { values: { propertyNames: { pattern: "^[^\\u0000]*$", not: { const: "__proto__" } } } },
    },
  ],
  [
    "a text with the character NUL in JSON",
    "/datasets/{slug}/items",
    { values: { a: ["\0"] } },
    {
      properties: { values: { additionalProperties: { $ref: "#/components/schemas/JsonValue" } } },
      schemas: {
        JsonValue: { anyOf: expect.arrayContaining([{ type: "string", pattern: "^[^\\u0000]*$" }]) },
      },
    },
  ],
  [
    "a publication of no version and no tag",
    "/prompts/{slug}/publish",
    { newTag: "a", version: "" },
    {
      anyOf: ["version", "tag"].map((name) => ({
        required: [name],
        properties: { [name]: { type: "string", minLength: 1 } },
      })),
    },
  ],
  [
    "an end before the start, by description",
    "/monitor/log",
    { slug: "a", output: "b", startTime: 1, endTime: 0 },
    {
      properties: { endTime: { description: expect.stringContaining("not before it") } },
    },
  ],
  [
    "a whole number that is not exact, by description",
    "/datasets/{slug}/items",
    '{"values": {"a": 9007199254740993}}',
    {
      schemas: { JsonValue: { description: expect.stringContaining("9007199254740993, is refused") } },
    },
  ],
])("the OpenAPI document states that %s is refused", async (_, path, input, stated) => {
  const slug = path.startsWith("/datasets") ? "country-quiz" : "country-guide";
  expect((await server.post(path.replace("{slug}", slug), input)).status).toBe(400);
  expect(await bodySchemaOf(path)).toMatchObject(stated);
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
  const { anyOf } = (await bodySchemaOf("/monitor/log")).properties.startTime;
  const { pattern, maxLength, minimum, maximum } = anyOf.find(
    ({ type }: { type: string }) => type === typeof time,
  );
  const isStated =
    typeof time === "string"
      ? new RegExp(pattern).test(time) && time.length <= maxLength
      : time >= minimum && time <= maximum;
  expect(isStated).toBe(isAccepted);
});

test.each(["/docs/../prompts", "/docs/%2e%2e/datasets", "/docs/../files/download/datasets/a/b"])(
  "GET %s is answered as a path that there is not",
  async (path) => {
    const [response] = (await once(get(`${server.url}`, { path }), "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(404);
    expect(await json(response)).toMatchObject({ code: "ROUTE_NOT_FOUND" });
  },
);

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

test("a file of /docs is read once for all who ask for it, and not sent to who has it", async () => {
  const ask = (headers = {}) => server.get("/docs/static/swagger-ui.css", { token: null, headers });
  const first = await ask();
  const read = vi.spyOn(fs, "createReadStream");
  const again = await ask({ range: "bytes=0-9", "if-none-match": '"another"' });
  const known = await ask({ "if-none-match": first.headers.etag });
  const other = await server.get("/docs/static/nothing.css", { token: null });
  expect(read).not.toHaveBeenCalled();
  await server.get("/docs/static/swagger-ui.js", { token: null });
  expect(read).toHaveBeenCalled(); // so the file is read by this function
  read.mockRestore();
  expect(first.headers["content-type"]).toMatch(/^text\/css/);
  expect(again).toMatchObject({ status: 200, body: first.body });
  expect(known).toMatchObject({ status: 304, body: "" });
  expect(other.status).toBe(404);
});

test("a file of /docs has one name", async () => {
  for (const path of [
    "/docs/static/swagger-ui%2Ecss",
    "/docs/stati%63/swagger-ui.css",
    "/docs/%73tatic/index.css",
  ])
    expect((await server.get(path, { token: null })).body).toMatchObject({ code: "ROUTE_NOT_FOUND" });
});
