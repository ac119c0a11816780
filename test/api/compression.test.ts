import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import Fastify from "fastify";
import { afterAll, expect, test, vi } from "vitest";
import { compressResponses } from "../../src/http/compression.ts";
import { addDataset } from "../support/data.ts";
import { type Answer, startServer } from "../support/server.ts";
import { turnsDuring } from "../support/turns.ts";

const server = await startServer({});
afterAll(() => server[Symbol.asyncDispose]());

await addDataset(server, {
  slug: "large",
  columns: [{ name: "question", type: "text" }],
  rows: Array.from({ length: 1_500 }, (_, n) => ({ values: { question: `Which number is ${n}? ἀριθμός` } })),
});
await server.run(
  `mutation($text: String!) {
    createPrompt(input: { slug: "long", name: "Long" }) { prompt { slug } }
    createPromptVersion(slug: "long", input: { version: "1", text: $text }) { promptVersion { version } }
    publishPrompt(slug: "long", input: { newTag: "production", to: { version: "1" } }) { promptTag { id } }
  }`,
  { text: "Say it again. ".repeat(2_000) },
);

/** The bytes as they come: fetch would decompress them. */
async function read(path: string, headers: Record<string, string> = {}) {
  const authorization = `Bearer ${server.token}`;
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get(`${server.url}${path}`, { headers: { authorization, ...headers } }, resolve).on("error", reject),
  );
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) };
}

test("a large answer is compressed for who accepts gzip, and for nobody else", async () => {
  const plain = await read("/datasets/large");
  expect(plain.headers).toMatchObject({ vary: expect.stringContaining("Accept-Encoding") });
  for (const accepted of ["gzip", "gzip, deflate, br", "br;q=1, gzip;q=0.1", "*"]) {
    const { headers, bytes } = await read("/datasets/large", { "accept-encoding": accepted });
    expect(headers).toMatchObject({ "content-encoding": "gzip", vary: plain.headers.vary });
    expect(bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
  }
  for (const refused of ["identity", "br", "gzip;q=0", "gzip;q=0, *", ""]) {
    const { headers, bytes } = await read("/datasets/large", { "accept-encoding": refused });
    expect(headers["content-encoding"]).toBe(undefined);
    expect(bytes.equals(plain.bytes)).toBe(true);
  }
});

test("128 answers that are not read to their end are compressed, and further ones are sent as they are", async () => {
  const app = Fastify({ forceCloseConnections: true });
  compressResponses(app as never);
  const endless = () => new Readable({ read() {} });
  app.get("/", (_, reply) => {
    const body = endless();
    body.push(randomBytes(256 * 1024).toString("hex"));
    return reply.type("application/json").send(body);
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const ask = async () => {
    const asking = get(url, { agent: false, headers: { "accept-encoding": "gzip" } });
    asking.on("error", () => {}); // it is broken off
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    return { asking, encoding: response.headers["content-encoding"] };
  };
  const answers = await Promise.all(Array.from({ length: 128 }, ask));
  expect(new Set(answers.map(({ encoding }) => encoding))).toEqual(new Set(["gzip"]));
  expect((await ask()).encoding).toBe(undefined);
  answers[0]!.asking.destroy();
  await expect.poll(async () => (await ask()).encoding).toBe("gzip");
  await app.close();
});

test("GraphQL compresses its large answers as REST does, and neither its small ones", async () => {
  const ask = (query: string) =>
    fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${server.token}`,
        "content-type": "application/json",
        "accept-encoding": "gzip",
      },
      body: JSON.stringify({ query }),
    });
  const large = await ask('{ dataset(slug: "large") { rows { nodes { values } } } }');
  expect(large.headers.get("content-encoding")).toBe("gzip");
  expect((await large.json()).data.dataset.rows.nodes).toHaveLength(1_500);
  const small = await ask("{ datasets { nodes { slug } } }");
  expect(small.headers.get("content-encoding")).toBe(null);
  expect((await read("/datasets", { "accept-encoding": "gzip" })).headers["content-encoding"]).toBe(
    undefined,
  );
});

test("a long answer is written as UTF-8 once for all who are sent it, a piece in a turn of the event loop", async () => {
  await using own = await startServer();
  const text = "ā".repeat(490_000);
  await own.run(
    'mutation($text: String!) { createPrompt(input: { slug: "wide" }) { prompt { slug } } createPromptVersion(slug: "wide", input: { version: "1", text: $text }) { promptVersion { version } } }',
    { text },
  );
  const query = `{ ${["a", "b"].map((name) => `${name}: prompt(slug: "wide") { latest { text } }`).join(" ")} }`;
  const written = vi.spyOn(Buffer, "from");
  const answers: Answer[] = [];
  const ask = async () => void answers.push(await own.graphql(query));
  await ask();
  const turns = await turnsDuring(ask);
  const long = written.mock.calls.filter(([value]) => typeof value === "string" && value.includes(text));
  written.mockRestore();
  for (const { body } of answers) expect(body.data.b.latest.text).toBe(text);
  expect(long).toHaveLength(1);
  expect(turns).toBeGreaterThanOrEqual(Math.floor((4 * text.length) / 65_536));
});

test("between writing, tagging and sending a long answer of REST, others have their turns", async () => {
  await using own = await startServer();
  for (let made = 0; made < 120; made += 30) {
    const create = (n: number) =>
      `n${n}: createPrompt(input: { slug: "p${n}", description: $d }) { __typename }`;
    const mutations = Array.from({ length: 30 }, (_, n) => create(made + n)).join(" ");
    await own.run(`mutation($d: String!) { ${mutations} }`, { d: "x".repeat(10_000) });
  }
  const turn = vi.spyOn(own.database, "turn");
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now()); // no work takes long
  expect(JSON.stringify((await own.get("/prompts")).body).length).toBeGreaterThan(1_200_000);
  clock.mockRestore();

  expect(turn).toHaveBeenCalledTimes(3); // the first one before the list is read
});

test("a long answer of GraphQL is written as UTF-8 in a turn of its workspace, unless it was before; a short one is not", async () => {
  const asked = (times: number) =>
    `{ ${Array.from({ length: times }, (_, n) => `a${n}: servedPrompt(slug: "long") { text }`).join(" ")} }`;
  const turns = async (times: number) => {
    const turn = vi.spyOn(server.database, "turn");
    expect((await server.graphql(asked(times))).body.data.a0.text).toContain("Say it again.");
    const { length } = turn.mock.calls;
    turn.mockRestore();
    return length;
  };
  await turns(1); // which fills the caches of what it is made of
  const short = await turns(2); // 56,000 characters
  expect(await turns(3)).toBe(short + 1);
  expect(await turns(3)).toBe(0);
});

test("a compressed answer is known again by its ETag", async () => {
  const first = await read("/prompts/long", { "accept-encoding": "gzip" });
  expect(JSON.parse(gunzipSync(first.bytes).toString()).prompt.text).toContain("Say it again.");
  const { etag } = first.headers;
  expect(etag).toMatch(/^W\//);
  const again = await read("/prompts/long", { "accept-encoding": "gzip", "if-none-match": etag! });
  expect([again.status, again.bytes.length]).toEqual([304, 0]);
});

test("HEAD of what would be compressed, and a client that breaks off, leave the service as it was", async () => {
  const authorization = `Bearer ${server.token}`;
  const headers = { authorization, "accept-encoding": "gzip" };
  for (let n = 0; n < 5; n++) {
    const head = await fetch(`${server.url}/datasets/large`, { method: "HEAD", headers });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    await new Promise<void>((resolve, reject) => {
      const request = get(`${server.url}/datasets/large`, { headers }, (response) => {
        response.once("data", () => request.destroy());
        response.once("close", resolve);
        response.on("error", () => {}); // it is we who break off
      }).on("error", reject);
    });
  }
  expect((await read("/datasets/large", { "accept-encoding": "gzip" })).status).toBe(200);
});
