import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { type ErrorCode, GabbroError } from "../../src/errors.ts";
import { errorResult, presentErrors } from "../../src/graphql/errors.ts";
import { errorBody } from "../../src/rest/errorResponses.ts";
import { type Server, startServer } from "../support/server.ts";

const lines: string[] = [];
const server = await startServer({ sample: true, log: (line) => lines.push(line) });
afterAll(() => server[Symbol.asyncDispose]());

const TOO_DEEP = "must not be nested deeper than 128 levels";

const json = { "content-type": "application/json" };

test.each([
  ["GET", "/nope", 404, "ROUTE_NOT_FOUND"],
  ["POST", "/", 404, "ROUTE_NOT_FOUND"],
  ["GET", "/datasets/a/b/c", 404, "ROUTE_NOT_FOUND"],
  ["GET", "/datasets/%ff", 400, "BAD_REQUEST"],
  ["DELETE", "/datasets/country-quiz", 405, "METHOD_NOT_ALLOWED"],
  ["GET", "/monitor/log", 405, "METHOD_NOT_ALLOWED"],
  ["PUT", "/prompts/x/describe", 405, "METHOD_NOT_ALLOWED"],
  ["OPTIONS", "/monitor/log", 405, "METHOD_NOT_ALLOWED"],
])("%s %s is answered with the JSON of an error", async (method, path, status, code) => {
  const answer = await server.request(method, path);
  expect(answer).toMatchObject({ status, body: { code } });
  errorBody.strict().parse(answer.body);
});

test.each([
  ["without CORS", []],
  ["with CORS", ["https://app.example.com"]],
])("a method that a path does not take is answered with those that it takes, %s", async (_, corsOrigins) => {
  await using own = await startServer({ corsOrigins, metricsToken: "a-token-for-watching-only-0123" });
  for (const [path, allow] of [
    ["/monitor/log", "POST"],
    ["/datasets/x", "GET, HEAD"],
    ["/datasets/x/items?y=1", "POST"],
    ["/prompts/x/publish", "POST"],
    ["/graphql", "GET, POST"],
    ["/graphql/assets/boot.js", "GET, HEAD"],
    ["/health", "GET, HEAD"],
    ["/metrics", "GET, HEAD"],
    ["/openapi.json", "GET, HEAD"],
    ["/docs/", "GET, HEAD"],
  ] as const) {
    const answer = await own.request("PATCH", path, "x", { headers: { "content-type": "text/plain" } });
    expect([path, answer.status, answer.headers.allow]).toEqual([path, 405, allow]);
  }
});

test.each([
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/jsonp",
  "x",
  `application/json; ${"x".repeat(256)}`,
])("a body of type %s is 415 at both APIs", async (type) => {
  for (const path of ["/monitor/log", "/datasets/country-quiz/items", "/graphql"]) {
    const answer = await server.request("POST", path, '{"slug":"x","output":1}', {
      headers: { "content-type": type },
    });
    expect(answer.status).toBe(415);
    expect(answer.body.code ?? answer.body.errors[0].extensions.code).toBe("UNSUPPORTED_MEDIA_TYPE");
  }
});

test.each([
  "application/json",
  "application/json; charset=utf-8",
  "APPLICATION/JSON",
  "application/vnd.api+json",
])("a body of type %s is read as JSON", async (type) => {
  const answer = await server.post(
    "/monitor/log",
    { slug: "x", output: 1 },
    { headers: { "content-type": type } },
  );
  expect(answer.status).toBe(200);
});

test.each([
  ["accept", "text/csv"],
  ["accept", "nonsense"],
  ["x-anything", "\u00e9"],
  ["x-request-id", "{not fit for a log}"],
  ["user-agent", ""],
])("the header %s: %s never makes a request fail", async (name, value) => {
  const call = { headers: { [name]: value } };
  expect((await server.post("/monitor/log", { slug: "x", output: 1 }, call)).status).toBe(200);
  expect((await server.get("/prompts/country-guide/describe", call)).status).toBe(200);
  expect((await server.graphql("{ __typename }", {}, call)).body).toEqual({ data: { __typename: "Query" } });
});

test("a Content-Type of any length is ignored where no body is read", async () => {
  const call = { headers: { "content-type": `application/json; ${"x".repeat(5_000)}` } };
  expect((await server.get("/prompts/country-guide/describe", call)).status).toBe(200);
  expect((await server.request("HEAD", "/prompts/country-guide/describe", undefined, call)).status).toBe(200);
});

test("a compressed body is 415 at both APIs, and a stray Content-Encoding does no harm", async () => {
  for (const path of ["/monitor/log", "/graphql"]) {
    const answer = await server.request("POST", path, gzipSync("{}"), {
      headers: { ...json, "content-encoding": "gzip" },
    });
    expect(answer.status).toBe(415);
    expect(answer.body.error ?? answer.body.errors[0].message).toContain("without Content-Encoding");
  }
  const stray = { headers: { ...json, "content-encoding": "utf-8" } };
  expect((await server.request("POST", "/monitor/log", '{"slug":"x","output":1}', stray)).status).toBe(200);
});

test.each([
  ["nothing", ""],
  ["half of it", '{"slug": "x", '],
  ["a text that does not end", '{"slug": "x'],
  ["a comment", "{} // done"],
  ["bytes that are not UTF-8", Buffer.from('{"slug":"x","output":"\xff"}', "latin1")],
  ["UTF-16", Buffer.from('{"slug":"x","output":1}', "utf16le")],
  ["what only looks compressed", gzipSync("{}")],
])("a body that is not JSON is BAD_JSON at both APIs: %s", async (_, body) => {
  for (const path of ["/monitor/log", "/graphql"]) {
    const answer = await server.request("POST", path, body, { headers: json });
    expect(answer.status).toBe(400);
    expect(answer.body.code ?? answer.body.errors[0].extensions.code).toBe("BAD_JSON");
  }
});

test.each([[null], [5], ['"text"'], [true], [[]], [[{ slug: "x", output: 1 }]]])(
  "a body that is no object is refused: %j",
  async (body) => {
    expect(await server.post("/monitor/log", body)).toMatchObject({
      status: 400,
      body: { code: "BAD_INPUT", details: [{ path: "", message: "must be an object" }] },
    });
    expect(await server.post("/datasets/country-quiz/items", body)).toMatchObject({ status: 400 });
    expect(await server.post("/graphql", body)).toMatchObject({ status: 400, body: { errors: [{}] } });
  },
);

test.each([
  [{}],
  [{ query: null }],
  [{ query: 5 }],
  [{ query: "{ __typename }", variables: 5 }],
  [{ query: "{ __typename }", variables: [] }],
])("a GraphQL request that is none is answered with an error, never left hanging: %j", async (body) => {
  const answer = await server.post("/graphql", body);
  expect(answer.status).toBe(400);
  expect(answer.body.errors[0].extensions.code).toBe("BAD_REQUEST");
});

test("a body of 10 MB is taken and a larger one is 413, whether or not it says its length", async () => {
  const record = (bytes: number) => {
    const empty = JSON.stringify({ slug: "x", output: "", inputTokens: 0, outputTokens: 0 });
    return empty.replace('"output":""', `"output":"${"x".repeat(bytes - empty.length)}"`);
  };
  const limit = 10 * 1024 * 1024;
  expect((await server.post("/monitor/log", record(limit))).status).toBe(200);
  const expected = { status: 413, body: { code: "BODY_TOO_LARGE" } };
  expect(await server.post("/monitor/log", record(limit + 1))).toMatchObject(expected);
  const headers = { authorization: `Bearer ${server.token}`, ...json };
  const stream = new Blob([record(limit + 1)]).stream();
  const chunked = await fetch(`${server.url}/monitor/log`, {
    method: "POST",
    headers,
    body: stream,
    duplex: "half",
  } as RequestInit);
  expect({ status: chunked.status, body: await chunked.json() }).toMatchObject(expected);
  const graphql = await server.post("/graphql", { query: `{ a: __typename #${"x".repeat(limit)}\n }` });
  expect(graphql).toMatchObject({
    status: 413,
    body: { errors: [{ extensions: { code: "BODY_TOO_LARGE" } }] },
  });
});

test("a client that sends all of a body that is too large before it reads finds the answer, and can go on", async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const bytes = 16 * 1024 * 1024;
  const head = `POST /monitor/log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  await new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.write(head);
    socket.write(Buffer.alloc(bytes, "x"), resolve);
  });
  socket.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(await text(socket)).toMatch(
    /^HTTP\/1\.1 413 .*"code":"BODY_TOO_LARGE".*HTTP\/1\.1 200 .*"status":"ok"/s,
  );
});

test.each([
  ["1234567890123456789", false],
  ["-9007199254740993", false],
  ["9007199254740992", true],
  ["9007199254740993.5", true],
  ["123456789012345680000", true],
  ["1e21", true],
])("the number %s is kept exactly or refused, at both APIs", async (number, isStored) => {
  const rest = await server.post("/monitor/log", `{"slug":"x","output":{"id":${number}}}`);
  const graphql = await server.graphql(
    `mutation { logPrompt(input: {slug: "x", output: {id: ${number}}}) { log { output } } }`,
  );
  expect(rest.status).toBe(isStored ? 200 : 400);
  if (isStored) expect(graphql.body.data.logPrompt.log.output).toEqual({ id: Number(number) });
  else {
    expect(graphql.body.errors[0].message + rest.body.error).toMatch(
      /too large to be kept exactly.*too large to be kept exactly/,
    );
    expect([rest.body.code, graphql.body.errors[0].extensions.code]).toEqual(["BAD_INPUT", "BAD_INPUT"]);
  }
});

test.each([
  ['{"slug":"x","output":N}', "output"],
  ['{"slug":"x","input":["],",[]],"output":{"a":[1,{"b":2},[{"c":{"id":N}}]]}}', "output.a.2.0.c.id"],
  ['{"slug":"x","output":1,"metadata":{"a":{"b":[{}]},"n":N}}', "metadata.n"],
  ["N", ""],
  [`{"${"k".repeat(500)}":N}`, "k".repeat(200)],
])("the error for a number in %s says where it stands", async (body, path) => {
  const { status, body: answer } = await server.post(
    "/monitor/log",
    body.replace("N", "1234567890123456789"),
  );
  expect(status).toBe(400);
  expect(answer.details).toEqual([{ path, message: expect.stringContaining("too large") }]);
});

test.each([
  ["an unknown operation", { query: "query A { __typename }", operationName: "B" }],
  ["two operations without a choice", { query: "query A { __typename } query B { __typename }" }],
])("%s is 400 for clients of the media type of GraphQL over HTTP, and 200 for others", async (_, body) => {
  const statusFor = async (accept: string) =>
    (await server.post("/graphql", body, { headers: { accept } })).status;
  expect(await statusFor("application/graphql-response+json")).toBe(400);
  expect(await statusFor("application/json")).toBe(200);
});

test("a whole number of hundreds of digits is too large, at both APIs", async () => {
  const number = "9".repeat(400);
  const rest = await server.post("/monitor/log", `{"slug":"x","output":${number}}`);
  const graphql = await server.graphql(
    `mutation { logPrompt(input: {slug: "x", output: ${number}}) { log { output } } }`,
  );
  expect(rest).toMatchObject({ status: 400, body: { code: "BAD_INPUT" } });
  expect(graphql.body.errors[0].message).toContain("too large to be kept exactly");
});

test("a query nested 15 deep is taken, one nested 16 deep is refused, also through fragments", async () => {
  // __schema { types { fields { type { ofType { … } } } } } with `levels` fields in all
  const nested = (levels: number) =>
    `{ __schema { types { fields { type { ${"ofType { ".repeat(levels - 5)}name${" }".repeat(levels - 5)} } } } } }`;
  expect((await server.graphql(nested(15))).body.errors).toBeUndefined();
  expect((await server.graphql(nested(16))).body.errors[0]).toMatchObject({
    message: "The operation nests its fields 16 deep; at most 15 are allowed.",
    extensions: { code: "QUERY_TOO_COMPLEX" },
  });
  const inFragment = `{ __schema { types { fields { type { ...T } } } } } fragment T on __Type { ${"ofType { ".repeat(11)}name${" }".repeat(11)} }`;
  expect((await server.graphql(inFragment)).body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test("30 aliases are taken, 31 are refused, also when a fragment repeats them", async () => {
  const aliased = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: __typename`).join(" ");
  expect((await server.graphql(`{ ${aliased(30)} }`)).body.errors).toBeUndefined();
  expect((await server.graphql(`{ ${aliased(31)} }`)).body.errors[0]).toMatchObject({
    message: "The operation has 31 aliases; at most 30 are allowed.",
    extensions: { code: "QUERY_TOO_COMPLEX" },
  });
  const spread = `{ ...A ...A } fragment A on Query { ${aliased(16)} }`;
  expect((await server.graphql(spread)).body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test("fragments that spread each other, or each other twice over, are refused at once", async () => {
  const cycle = "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }";
  expect((await server.graphql(cycle)).body.errors[0].extensions.code).toBe("GRAPHQL_VALIDATION_FAILED");
  const doubling = Array.from(
    { length: 60 },
    (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`,
  ).join(" ");
  const { body } = await server.graphql(`{ ...F0 } ${doubling} fragment F60 on Query { a: __typename }`);
  expect(body.errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code)).toContain(
    "QUERY_TOO_COMPLEX",
  );
});

test("a document of more than 5,000 tokens is refused", async () => {
  const document = (numbers: number) =>
    `mutation { logPrompt(input: { slug: "x", output: [${"0 ".repeat(numbers)}] }) { warning } }`;
  expect((await server.graphql(document(4_900))).body.errors).toBeUndefined();
  const refused = await server.graphql(document(5_000));
  expect(refused.body.errors[0]).toMatchObject({
    message: expect.stringContaining("5000 tokens"),
    extensions: { code: "GRAPHQL_PARSE_FAILED" },
  });
});

test("a mutation is refused by GET, and a query by GET is answered", async () => {
  const get = (query: string) =>
    server.get(`/graphql?query=${encodeURIComponent(query)}`, { headers: { accept: "application/json" } });
  expect((await get('{ dataset(slug: "country-quiz") { slug } }')).body).toEqual({
    data: { dataset: { slug: "country-quiz" } },
  });
  const refused = await get('mutation { logPrompt(input: {slug: "x", output: 1}) { warning } }');
  expect(refused).toMatchObject({
    status: 405,
    headers: { allow: "POST" },
    body: { errors: [{ extensions: { code: "METHOD_NOT_ALLOWED" } }] },
  });
});

test("a fault of ours is answered without its insides and logged whole under the same request id", async () => {
  await using broken = await startServer({ log: (line) => lines.push(line) });
  await broken.database.orm.em.fork().execute("alter table datasets rename to gone");
  const rest = await broken.get("/datasets/x", { headers: { "x-request-id": "rest-1" } });
  expect(rest).toMatchObject({ status: 500, headers: { "x-request-id": "rest-1" } });
  expect(rest.body).toEqual({
    error: "Internal error. The server's log has it under request id rest-1.",
    code: "INTERNAL",
  });
  const graphql = await broken.graphql(
    '{ dataset(slug: "x") { slug } }',
    {},
    { headers: { "x-request-id": "graphql-1" } },
  );
  expect(graphql.body.errors[0]).toMatchObject({
    message: "Internal error. The server's log has it under request id graphql-1.",
    extensions: { code: "INTERNAL" },
  });
  for (const id of ["rest-1", "graphql-1"]) {
    const logged = lines
      .map((line) => JSON.parse(line))
      .find(({ reqId, level }) => reqId === id && level === 50);
    expect(logged.err).toMatchObject({
      message: expect.stringMatching(/no such table: datasets|"datasets" does not exist/),
      stack: expect.stringContaining(" at "),
    });
  }
});

test.each<[ErrorCode, number]>([
  ["UNAVAILABLE", 1],
  ["TIMED_OUT", 1],
  ["CONFLICT", 0],
])(
  "an error of GraphQL with the code %s is logged %i times: the faults of callers are not",
  (code, times) => {
    const logged: string[] = [];
    const log = pino({}, { write: (line: string) => logged.push(line) });
    const context = { requestId: "r-1", log, topField: undefined, errorCode: undefined };
    const [error] = presentErrors(errorResult(new GabbroError(code, "It failed.")), context);
    expect(error).toMatchObject({ message: "It failed.", extensions: { code } });
    const expected = { level: 50, msg: "It failed.", err: { code } };
    expect(logged.map((line) => JSON.parse(line))).toMatchObject(Array(times).fill(expected));
  },
);

test("the log has one line a request, with its id and never a token, a payload or a query", async () => {
  lines.length = 0;
  const canary = "canary-51ab";
  await server.post(
    `/monitor/log?x=${canary}`,
    { slug: canary, output: canary },
    { headers: { "x-canary": canary } },
  );
  await server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { warning } }", {
    i: { slug: canary, output: canary },
  });
  await server.post("/monitor/log", { slug: { canary } });
  await server.post("/monitor/log", `{"${canary}`);
  await server.get(`/datasets/${canary}`);
  const answered = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "answered");
  expect(answered.map(({ method, route, status }) => [method, route, status])).toEqual([
    ["POST", "/monitor/log", 200],
    ["POST", "/graphql", 200],
    ["POST", "/monitor/log", 400],
    ["POST", "/monitor/log", 400],
    ["GET", "/datasets/:slug", 404],
  ]);
  for (const { reqId, latencyMs } of answered)
    expect([reqId, latencyMs]).toEqual([expect.any(String), expect.any(Number)]);
  expect(lines.join("")).not.toContain(canary);
  expect(lines.join("")).not.toContain(server.token);
});

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

test.each([
  [`00-${TRACE}-00f067aa0ba902b7-01`, TRACE],
  [`cc-${TRACE}-00f067aa0ba902b7-01-what-a-later-version-adds`, TRACE],
  [`00-${TRACE}-00f067aa0ba902b7-01-more`, undefined],
  [`ff-${TRACE}-00f067aa0ba902b7-01`, undefined],
  [`00-${"0".repeat(32)}-00f067aa0ba902b7-01`, undefined],
  [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
  [`00-${TRACE}"}-00f067aa0ba902b7-01`, undefined],
  ["nonsense", undefined],
])(
  "every line of the log has the trace of a valid traceparent beside the request id: %s",
  async (traceparent, traceId) => {
    lines.length = 0;
    const headers = { traceparent, "x-request-id": "traced-1" };
    await server.get("/datasets/country-quiz", { headers });
    await server.get("/nope", { headers });
    await server.graphql('{ dataset(slug: "nope") { slug } }', {}, { headers });
    const logged = lines.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId);
    expect(logged.length).toBeGreaterThanOrEqual(3);
    for (const line of logged) expect([line.reqId, line.traceId]).toEqual(["traced-1", traceId]);
    expect(logged.at(-1)).toMatchObject({ field: "dataset", code: "DATASET_NOT_FOUND", status: 200 });
  },
);

test("a fault of ours is logged with the trace that it belongs to", async () => {
  await using broken = await startServer({ log: (line) => lines.push(line) });
  await broken.database.orm.em.fork().execute("alter table datasets rename to gone");
  lines.length = 0;
  await broken.get("/datasets/x", { headers: { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` } });
  const faults = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(faults).toEqual([expect.objectContaining({ traceId: TRACE, reqId: expect.any(String) })]);
});

test("a request may have a hundred headers", async () => {
  const head = (count: number) => {
    const more = Array.from({ length: count - 2 }, (_, n) => `x-${n}: y\r\n`);
    return `GET /health HTTP/1.1\r\nHost: x\r\n${more.join("")}Connection: close\r\n\r\n`;
  };
  expect(await raw(server, head(100))).toMatch(/^HTTP\/1\.1 200 /);
  expect(await raw(server, head(101))).toMatch(/^HTTP\/1\.1 431 .*100 headers.*"code":"HEADERS_TOO_LARGE"/s);
});

test("what is not HTTP is answered with the JSON of an error, and the connection ends", async () => {
  expect(await raw(server, "NONSENSE\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"/s);
  expect(
    await raw(server, `GET /health HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`),
  ).toMatch(/^HTTP\/1\.1 431 .*16 kB.*"code":"HEADERS_TOO_LARGE"/s);
});

test.each(["bad host", "a b", "[", "x:y:z", ""])(
  "a strange Host header is never a fault of ours: %j",
  async (host) => {
    const answer = await raw(
      server,
      `POST /graphql HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${server.token}\r\nContent-Length: 24\r\nConnection: close\r\n\r\n{"query":"{__typename}"}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 (?:200|400) /);
  },
);

test("answers carry security headers, and no other origin is let in unless it was configured", async () => {
  const headers = { origin: "https://app.example.com" };
  for (const path of ["/health", "/prompts/country-guide/describe", "/nope"]) {
    const answer = await server.get(path, { headers });
    expect(answer.headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none';frame-ancestors 'none'",
    });
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
  }
  const graphql = await server.graphql("{ __typename }", {}, { headers });
  expect(Object.keys(graphql.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);

  await using open = await startServer({ corsOrigins: ["https://app.example.com"] });
  expect((await open.get("/health", { headers })).headers).toMatchObject({
    "access-control-allow-origin": headers.origin,
    "access-control-expose-headers":
      "ETag, Retry-After, Idempotent-Replayed, Gabbro-Deprecated, X-Request-Id",
  });
  const foreign = await open.get("/health", { headers: { origin: "https://evil.example.com" } });
  expect(foreign.headers).not.toHaveProperty("access-control-allow-origin");
  const preflight = await open.request("OPTIONS", "/monitor/log", undefined, {
    token: null,
    headers: {
      ...headers,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    },
  });
  expect(preflight).toMatchObject({
    status: 204,
    headers: {
      "access-control-allow-origin": headers.origin,
      "access-control-allow-methods": expect.stringContaining("POST"),
      "access-control-allow-headers": "authorization",
    },
  });
});

test("a preflight where no origin is allowed says what to set, in its answer and in the log", async () => {
  const lines: string[] = [];
  await using closed = await startServer({ log: (line) => void lines.push(line) });
  const headers = { origin: "https://app.example.com", "access-control-request-method": "POST" };
  const { status, body } = await closed.request("OPTIONS", "/graphql", undefined, { token: null, headers });
  expect(status).toBe(405);
  const advice = /set CORS_ORIGIN to the origin of the page, such as CORS_ORIGIN=/;
  expect(body.errors[0].message).toMatch(advice);
  expect(lines.find((line) => advice.test(line))).toContain('"level":40');
  expect(
    (await closed.request("OPTIONS", "/datasets", undefined, { token: null, headers })).body.error,
  ).toMatch(advice);
});

test("with the origin * pages of every origin may call, and ask before", async () => {
  await using open = await startServer({ corsOrigins: ["*"] });
  const headers = { origin: "https://any.example.com", "access-control-request-method": "POST" };
  for (const [method, path] of [
    ["GET", "/health"],
    ["OPTIONS", "/graphql"],
  ] as const) {
    const answer = await open.request(method, path, undefined, { token: null, headers });
    expect([method, answer.headers["access-control-allow-origin"]]).toEqual([method, "*"]);
  }
});

test.each<[origin: string | undefined, allowed: string | undefined]>([
  [undefined, undefined],
  ["https://app.example.com", "https://app.example.com"],
  ["https://evil.example.com", undefined],
])("an OPTIONS that asks for no method is answered like a preflight: origin %s", async (origin, allowed) => {
  await using open = await startServer({ corsOrigins: ["https://app.example.com"] });
  const headers: Record<string, string> = origin === undefined ? {} : { origin };
  const answer = await open.request("OPTIONS", "/monitor/log", undefined, { token: null, headers });
  expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([204, allowed]);
});

test("unknown paths and wrong methods get their own errors, with and without CORS", async () => {
  await using open = await startServer({ corsOrigins: ["https://app.example.com"] });
  expect(await open.get("/nope")).toMatchObject({ status: 404, body: { code: "ROUTE_NOT_FOUND" } });
  expect(await open.request("PATCH", "/monitor/log")).toMatchObject({
    status: 405,
    headers: { allow: "POST" },
  });
});

test("a body with 200,000 errors is refused with a short answer", async () => {
  const variables = `[${"{},".repeat(199_999)}{}]`;
  const answer = await server.post("/monitor/log", `{"slug":"x","output":1,"variables":${variables}}`);
  expect(answer.body.details).toEqual([{ path: "variables", message: "must have at most 1000 items" }]);
  const some = await server.post("/monitor/log", { slug: "x", output: 1, variables: Array(1_000).fill({}) });
  expect(some.body.details).toHaveLength(100);
});

test.each([
  ["variables", "{bad"],
  ["extensions", "x"],
])("a %s parameter by GET that is no JSON is the caller's fault", async (name, value) => {
  const answer = await server.get(`/graphql?query={__typename}&${name}=${encodeURIComponent(value)}`);
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ extensions: { code: "BAD_REQUEST" } }] } });
});

test("a value nested so deep that reading it would overflow is the caller's fault", async () => {
  const value = `${"[".repeat(2_400)}${"]".repeat(2_400)}`;
  const { body } = await server.graphql(
    `mutation { logPrompt(input: { slug: "x", output: ${value} }) { warning } }`,
  );
  expect(body.errors[0].extensions.code).toMatch(/^(?:QUERY_TOO_COMPLEX|BAD_INPUT)$/);
  expect(
    await server.post("/monitor/log", `{"slug":"x","output":${"[".repeat(200_000)}${"]".repeat(200_000)}}`),
  ).toMatchObject({
    status: 400,
    body: { code: "BAD_INPUT" },
  });
});

test("JSON nested 128 levels deep is read and one level more is refused at both APIs, by body and by URL", async () => {
  const steps = (levels: number) =>
    Array.from({ length: levels }, (_, n) => (n % 2 ? ['{"a":', "}"] : ["[", "]"]));
  const nested = (levels: number) =>
    `${steps(levels)
      .map(([open]) => open)
      .join("")}1${steps(levels)
      .map(([, close]) => close)
      .toReversed()
      .join("")}`;
  const tooDeep = { code: "BAD_INPUT", details: [{ path: "", message: TOO_DEEP }] };
  const log = (levels: number) => `{"slug":"x","output":"]}[","ignored":${nested(levels - 1)}}`;
  expect((await server.post("/monitor/log", log(128))).status).toBe(200);
  expect(await server.post("/monitor/log", log(129))).toMatchObject({ status: 400, body: tooDeep });
  const query = (levels: number) => `{"query":"{ __typename }","variables":{"x":${nested(levels - 2)}}}`;
  expect((await server.post("/graphql", query(128))).body).toEqual({ data: { __typename: "Query" } });
  const refused = { status: 400, body: { errors: [{ extensions: tooDeep }] } };
  const keyed = { headers: { "idempotency-key": "deep" } };
  for (const levels of [129, 100_000])
    expect(await server.post("/graphql", query(levels), keyed)).toMatchObject(refused);
  const byUrl = (levels: number) =>
    server.get(`/graphql?query={__typename}&variables={"x":${encodeURIComponent(nested(levels - 1))}}`);
  expect((await byUrl(128)).body).toEqual({ data: { __typename: "Query" } });
  expect(await byUrl(129)).toMatchObject(refused);
});

test("brackets in texts, and ever so many that are closed again, are no depth", async () => {
  const flat = {
    slug: "x",
    output: '["'.repeat(500),
    input: Array(1_000).fill([{}]),
    metadata: { "\\": "[\\" },
  };
  expect((await server.post("/monitor/log", flat)).status).toBe(200);
});

test("a number in the variables of a URL is kept exactly or refused, as in a body", async () => {
  const query = "query($f: LogFilter) { logs(filter: $f) { nodes { id } } }";
  const variables = '{"f":{"metadata":[{"key":"a","value":1234567890123456789}]}}';
  const { body } = await server.get(`/graphql?query=${query}&variables=${variables}`);
  expect(body.errors[0].extensions.code).toBe("BAD_INPUT");
});

test("an id is the same in capitals", async () => {
  const { body } = await server.post("/monitor/log", { slug: "x", output: 1 });
  const { id } = body.log;
  expect((await server.graphql(`{ log(id: "${id.toUpperCase()}") { id } }`)).body.data.log).toEqual({ id });
});

test("who sends slowly is cut off", async () => {
  expect(server.app.server).toMatchObject({ requestTimeout: 30_000, headersTimeout: 10_000 });
});

test("an id of a request that is not fit for a log is replaced", async () => {
  for (const given of ["{}", "x".repeat(65), 'a"b']) {
    const { headers } = await server.get("/health", { headers: { "x-request-id": given } });
    expect(headers["x-request-id"]).toMatch(/^[\w-]{36}$/);
  }
  expect(
    (await server.get("/health", { headers: { "x-request-id": "mine-1" } })).headers["x-request-id"],
  ).toBe("mine-1");
});

test("health and readiness need no token, and readiness reports when the database does not answer", async () => {
  await using mortal = await startServer();
  for (const path of ["/health", "/ready"]) {
    expect(await mortal.get(path, { token: null })).toMatchObject({ status: 200, body: { status: "ok" } });
  }
  await mortal.database.orm.em.getConnection().close();
  expect(await mortal.get("/ready", { token: null })).toMatchObject({
    status: 503,
    headers: { "retry-after": "1" },
    body: { code: "UNAVAILABLE" },
  });
  expect((await mortal.get("/health", { token: null })).status).toBe(200);
});

/** Sends bytes as they are and gives all that comes back until the connection ends. */
function raw({ url }: Server, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.on("end", () => resolve(received));
    socket.on("error", reject);
  });
}
