import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import type { Database } from "../../src/database/open.ts";
import { fileContent, uploadFile } from "../../src/files/contents.resolvers.ts";
import { getComplete, getSignedFile } from "../../src/files/resolvers.ts";
import { addToken, addWorkspace } from "../support/data.ts";
import { announce, announced, beginPut, fileOf, put, storedIn, unfinishedChunks } from "../support/files.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";
import { countTurns } from "../support/turns.ts";

vi.setConfig({ testTimeout: 30_000 });

const lines: string[] = [];
const server = await startServer({ log: (line) => lines.push(line) });
afterAll(() => server[Symbol.asyncDispose]());
afterEach(async () => {
  vi.useRealTimers();
  // What a test broke off is cleaned up after it, and would change what the next one counts.
  await expect.poll(() => unfinishedChunks(server), soon).toEqual([]);
});

const other = await addWorkspace(server, "other");
const BYTES = randomBytes(300_000);
const soon = { timeout: 10_000 };

/** The URLs of a file that was uploaded. */
async function uploaded() {
  const { uploadUrl, fileKey } = await announced(server);
  expect((await put(uploadUrl, BYTES)).status).toBe(200);
  const { downloadUrl } = await fileOf(server, fileKey);
  return { uploadUrl, fileKey, downloadUrl: downloadUrl as string };
}

test("the file of another workspace does not exist", async () => {
  const { fileKey } = await uploaded();
  expect(await fileOf(server, fileKey, other.token)).toEqual({ error: "FILE_NOT_FOUND" });
  const own = fileKey.replace(/^datasets\/[^/]+/, `datasets/${other.id}`);
  for (const token of [server.token, other.token])
    expect(await fileOf(server, own, token)).toEqual({ error: "FILE_NOT_FOUND" });
});

test.each([
  ["datasets"],
  [""],
  ["/"],
  ["../../../etc/passwd"],
  ["datasets/../../etc/passwd"],
  ["KEY/x"],
  ["KEY.png"],
  ["KEY\n"],
  ["datasets/%2e%2e/%2e%2e"],
  ["datasets//"],
  ["datasets/x/y.jpg"],
])("the key %j names no file", async (key) => {
  const { fileKey } = await uploaded();
  const asked = key.replace("KEY", fileKey);
  expect(await fileOf(server, asked)).toEqual({ error: "FILE_NOT_FOUND" });
});

test("a token without the scope may neither announce a file nor read one, and no token may do neither", async () => {
  const { fileKey } = await uploaded();
  const reader = await addToken(server, { scopes: ["read"] });
  const writer = await addToken(server, { scopes: ["write"] });
  expect(await announce(server, {}, reader.token)).toMatchObject({ status: 403 });
  expect(await fileOf(server, fileKey, writer.token)).toEqual({ error: "FORBIDDEN" });
  expect(await announce(server, {}, "none")).toMatchObject({ status: 401 });
});

type Urls = Awaited<ReturnType<typeof uploaded>>;
const changed = (url: string, change: (url: URL) => void) => {
  const parsed = new URL(url);
  change(parsed);
  return parsed.href;
};
const withQuery = (url: string, name: string, value: string) =>
  changed(url, ({ searchParams }) => searchParams.set(name, value));
const signatureOf = (url: string) => new URL(url).searchParams.get("signature")!;

const forgeries: [what: string, forge: (url: string, own: Urls, another: Urls) => string][] = [
  ["no signature", (url) => changed(url, ({ searchParams }) => searchParams.delete("signature"))],
  ["an empty signature", (url) => withQuery(url, "signature", "")],
  ["a shortened signature", (url) => withQuery(url, "signature", signatureOf(url).slice(0, -2))],
  ["another signature", (url) => withQuery(url, "signature", randomBytes(32).toString("base64url"))],
  ["two signatures", (url) => `${url}&signature=${signatureOf(url)}`],
  ["no time", (url) => changed(url, ({ searchParams }) => searchParams.delete("expires"))],
  ["a later time", (url) => withQuery(url, "expires", "9999999999")],
  ["a time that is none", (url) => withQuery(url, "expires", "Infinity")],
  ["the key of another file", (url, own, { fileKey }) => url.replace(own.fileKey, fileKey)],
  ["the id of another workspace", (url) => url.replace(/datasets\/[^/]+/, `datasets/${other.id}`)],
  ["another extension", (url) => url.replace(".jpg?", ".html?")],
  ["a folder in its name", (url) => url.replace(".jpg?", ".jpg%2F..?")],
  ["a workspace that is no id", (url) => url.replace(/datasets\/[^/]+/, "datasets/..%2F..%2Fetc")],
  ["a NUL in its name", (url) => url.replace(".jpg?", "%00.jpg?")],
];

test.each(forgeries)("a URL with %s is refused, and stores and answers nothing", async (_, forge) => {
  const [own, another] = [await uploaded(), await uploaded()];
  const { uploadUrl } = await announced(server);
  const before = await storedIn(server);
  const uploads = [forge(own.uploadUrl, own, another), forge(uploadUrl, own, another)];
  for (const url of uploads) {
    if ([own.uploadUrl, uploadUrl].includes(url)) continue; // the key in the URL is not that of `own`
    expect(await put(url, BYTES)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  }
  const download = await fetch(forge(own.downloadUrl, own, another));
  expect(download.status).toBe(403);
  expect(await download.json()).toMatchObject({ code: "FORBIDDEN" });
  expect(await storedIn(server)).toEqual(before);
});

test("HEAD of a download has the headers of GET, and reads nothing of the content", async () => {
  const { downloadUrl } = await uploaded();
  const stopCapturing = await captureStatements(server);
  const head = await fetch(downloadUrl, { method: "HEAD" });
  const chunksRead = stopCapturing().filter(({ sql }) => sql.includes("file_chunks"));
  expect([head.status, head.headers.get("content-type"), chunksRead]).toEqual([200, "image/jpeg", []]);
});

test("the signature of an upload allows no download, and that of a download no upload", async () => {
  const { uploadUrl, downloadUrl } = await uploaded();
  const swapped = (url: string, from: string, to: string) => url.replace(`/files/${from}/`, `/files/${to}/`);
  expect((await fetch(swapped(uploadUrl, "upload", "download"))).status).toBe(403);
  expect((await put(swapped(downloadUrl, "download", "upload"), BYTES)).status).toBe(403);
});

test("both URLs expire after 15 minutes", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() - 15 * 60_000);
  const { uploadUrl, downloadUrl } = await uploaded();
  vi.setSystemTime(Date.now() + 14.9 * 60_000);
  expect((await put(uploadUrl, BYTES)).status).toBe(200);
  expect((await fetch(downloadUrl)).status).toBe(200);
  vi.setSystemTime(Date.now() + 0.1 * 60_000 + 1);
  for (const { status, body } of [
    await put(uploadUrl, BYTES),
    { status: 403, body: await (await fetch(downloadUrl)).json() },
  ]) {
    expect(status).toBe(403);
    expect(body).toMatchObject({ code: "FORBIDDEN", error: expect.stringContaining("expired") });
  }
});

test("an upload without a valid signature is refused before its body arrives", async () => {
  const { uploadUrl } = await announced(server);
  const { socket, received } = beginPut(withQuery(uploadUrl, "expires", "9999999999"), {
    length: 1_000_000,
    beginning: Buffer.alloc(0),
  });
  await expect.poll(received, soon).toContain("HTTP/1.1 403 ");
  socket.destroy();
});

test("an upload that stops half way stores nothing, and the file can be uploaded again", async () => {
  const { uploadUrl, fileKey } = await announced(server);
  const before = await storedIn(server);
  const { socket, closed } = beginPut(uploadUrl, { length: 900_000, beginning: randomBytes(600_000) });
  const chunks = async () => (await storedIn(server)).chunks.length;
  await expect.poll(chunks, soon).toBeGreaterThan(before.chunks.length);
  expect(await fileOf(server, fileKey)).toEqual({ error: "FILE_NOT_FOUND" });
  socket.destroy();
  await closed;
  await expect.poll(() => storedIn(server), soon).toEqual(before);
  expect((await put(uploadUrl, BYTES)).status).toBe(200);
});

test("uploads that break off at once are removed step by step, each in a turn of its own", async () => {
  const uploads = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const { uploadUrl } = await announced(server);
      return beginPut(uploadUrl, { length: 900_000, beginning: randomBytes(600_000) });
    }),
  );
  await expect.poll(() => unfinishedChunks(server), soon).toHaveLength(20);
  const turns = countTurns();
  const removedIn: number[] = [];
  const turn = server.database.turn;
  const spy = vi.spyOn(server.database, "turn").mockImplementation(async (workspaceId) => {
    await turn(workspaceId);
    removedIn.push(turns.now());
  });
  for (const { socket } of uploads) socket.destroy();
  await expect.poll(() => unfinishedChunks(server), soon).toEqual([]);
  await expect.poll(() => removedIn.length, soon).toBe(20); // the last one finds no more
  spy.mockRestore();
  turns.stop();
  expect(new Set(removedIn).size).toBe(20);
});

test("an upload whose last answer of the database is lost is the content all the same, and has all its bytes", async () => {
  const { uploadUrl, fileKey } = await announced(server);
  const file = await signedFile({ uploadUrl, fileKey });
  const upload = { contentType: "image/jpeg", sizeBytes: undefined, body: Readable.from([BYTES]) };
  const error = new Error("Connection terminated");
  await expect(uploadFile(losingAnswers(server.database, error), file, upload)).rejects.toBe(error);
  const { downloadUrl } = await fileOf(server, fileKey);
  expect(Buffer.from(await (await fetch(downloadUrl)).arrayBuffer()).equals(BYTES)).toBe(true);
  expect((await put(uploadUrl, BYTES)).status).toBe(200);
});

test("an upload whose chunks are gone does not become the content", async () => {
  const { uploadUrl, fileKey } = await announced(server);
  const file = await signedFile({ uploadUrl, fileKey });
  async function* body() {
    yield BYTES;
    await server.database.write.deleteFrom("FileChunk").where("file", "=", file.id).execute();
    yield BYTES;
  }
  const upload = { contentType: "image/jpeg", sizeBytes: undefined, body: body() };
  await expect(uploadFile(server.database, file, upload)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await fileOf(server, fileKey)).toEqual({ error: "FILE_NOT_FOUND" });
  expect((await put(uploadUrl, BYTES)).status).toBe(200);
});

/** The file that an upload URL names, as its route finds it. */
function signedFile({ uploadUrl, fileKey }: { uploadUrl: string; fileKey: string }) {
  const [workspaceId, name] = fileKey.split("/").slice(1) as [string, string];
  const signed = { workspaceId, name, ...Object.fromEntries(new URL(uploadUrl).searchParams) };
  return getSignedFile(server.database, "upload", signed);
}

/** The same database, where each update is carried out and its answer is lost. */
function losingAnswers(database: Database, error: Error): Database {
  const write = new Proxy(database.write, {
    get: (target, name) => {
      const found = Reflect.get(target, name);
      if (name !== "updateTable") return typeof found === "function" ? found.bind(target) : found;
      return (...table: Parameters<typeof target.updateTable>) => losing(target.updateTable(...table));
    },
  });
  // biome-ignore lint/suspicious/noExplicitAny: every step of the query builder has a type of its own
  const losing = (builder: any): any =>
    new Proxy(builder, {
      get: (target, name) => {
        if (name !== "execute") return (...args: unknown[]) => losing(target[name](...args));
        return async () => {
          await target.execute();
          throw error;
        };
      },
    });
  return { ...database, write };
}

test("an upload that takes longer than a request may is disconnected, and stores nothing", async () => {
  await using own = await startServer({ clientLimits: { requestMs: 300, headersMs: 200, checkMs: 20 } });
  const { uploadUrl } = await announced(own);
  const before = await storedIn(own);
  const { closed } = beginPut(uploadUrl, { length: 900_000, beginning: randomBytes(600_000) });
  await closed;
  await expect.poll(() => storedIn(own), soon).toEqual(before);
});

test("slow uploads leave half of the places to others; their workspace waits until one of them ends", async () => {
  const begun: ReturnType<typeof beginPut>[] = [];
  const chunks = async () => (await storedIn(server)).chunks.length;
  const before = await chunks();
  for (let n = 0; n < 32; n++) {
    const { uploadUrl } = await announced(server);
    begun.push(beginPut(uploadUrl, { length: 400_000, beginning: BYTES }));
  }
  await expect.poll(chunks, soon).toBe(before + 32); // each has its place
  const { uploadUrl } = await announced(server);
  let isAnswered = false;
  const waiting = put(uploadUrl, BYTES).finally(() => {
    isAnswered = true;
  });
  const neighbour = await announced(server, {}, other.token);
  for (let n = 0; n < 5; n++) expect((await put(neighbour.uploadUrl, BYTES)).status).toBe(200);
  expect(isAnswered).toBe(false);
  begun[0]!.socket.destroy();
  expect((await waiting).status).toBe(200);
  for (const { socket } of begun) socket.destroy();
  await Promise.all(begun.map(({ closed }) => closed));
});

test("downloads that begin at once read their first chunks in turns of the event loop of their own", async () => {
  const file = getComplete(await signedFile(await uploaded()));
  const turns = countTurns();
  const reads: number[] = [];
  const database = {
    ...server.database,
    get read() {
      reads.push(turns.now());
      return server.database.read;
    },
  };
  await Promise.all(Array.from({ length: 20 }, () => fileContent(database, file).next()));
  turns.stop();
  expect(new Set(reads).size).toBe(20);
});

test.each([
  { what: "longer than a file may be", length: 10 * 1024 * 1024 + 1, status: 413 },
  { what: "other than announced", length: 9, status: 400 },
])("a length that is $what is refused before the body arrives", async ({ length, status }) => {
  const { uploadUrl } = await announced(server, { sizeBytes: 10 });
  const { socket, received } = beginPut(uploadUrl, { length, beginning: Buffer.alloc(0) });
  await expect.poll(received, soon).toContain(`HTTP/1.1 ${status} `);
  socket.destroy();
});

test("a body without an end is refused once it is larger than a file may be, and stores nothing", async () => {
  const { uploadUrl } = await announced(server);
  const before = await storedIn(server);
  const headers = { "content-type": "image/jpeg" };
  const sending = request(uploadUrl, { method: "PUT", headers });
  sending.on("error", () => {}); // the connection is closed while it goes on
  const part = Buffer.alloc(64 * 1024);
  const send = () => {
    while (sending.write(part));
  };
  sending.on("drain", send);
  send();
  const [{ statusCode }] = await once(sending, "response");
  expect(statusCode).toBe(413);
  sending.destroy();
  await expect.poll(() => storedIn(server), soon).toEqual(before);
});

test("an upload that is refused while its body arrives, and whose connection then breaks, does no harm", async () => {
  const { uploadUrl } = await announced(server, { contentType: "image/png" });
  const { socket, received, closed } = beginPut(uploadUrl, { length: 900_000, beginning: BYTES });
  await expect.poll(received, soon).toContain("HTTP/1.1 415 ");
  socket.destroy();
  await closed;
  expect((await uploaded()).fileKey).toMatch(/^datasets/);
});

test("uploads count neither as bodies in memory nor for the rate of a token", async () => {
  const rateLimits = { perToken: 1, perAddress: null };
  await using own = await startServer({ rateLimits, limits: { maxBodyBytes: 100_000 } });
  const { uploadUrl } = await announced(own);
  for (let n = 0; n < 3; n++) expect((await put(uploadUrl, BYTES)).status).toBe(200);
});

test("what an upload may read in a turn is its own, whoever else uploads", async () => {
  const urls = [await announced(server), await announced(server, {}, other.token)];
  const turns = vi.spyOn(globalThis, "setImmediate");
  const uploads = urls.map(({ uploadUrl }) => put(uploadUrl, BYTES));
  expect((await Promise.all(uploads)).map(({ status }) => status)).toEqual([200, 200]);
  const calls = turns.mock.calls as unknown as [unknown, string, { waiting?: unknown }?][];
  const lanes = calls.filter(([, , lane]) => lane?.waiting).map(([, name]) => name);
  turns.mockRestore();
  expect(new Set(lanes.filter((name) => name.startsWith("upload"))).size).toBe(2);
});

test("a body in tiny chunks is refused", async () => {
  const { uploadUrl } = await announced(server);
  const before = await storedIn(server);
  const { hostname, port, pathname, search } = new URL(uploadUrl);
  const socket = connect(Number(port), hostname);
  // In one packet: a client that sends on may find its connection reset before it has read the answer.
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Type: image/jpeg\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(300)}0\r\n\r\n`,
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*"BAD_REQUEST"/s);
  expect(await storedIn(server)).toEqual(before);
});

test.each([
  { proxies: [], origin: "http://files.example.com:8080" },
  { proxies: ["127.0.0.1"], origin: "https://public.example.com" },
])("with the proxies $proxies URLs have the origin $origin", async ({ proxies, origin }) => {
  await using own = await startServer({ trustedProxies: proxies });
  const headers = {
    host: "files.example.com:8080",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "public.example.com",
  };
  const file = { fileName: "a.jpg", contentType: "image/jpeg" };
  const { body } = await own.post("/files/generate-upload-url", file, { headers });
  expect(new URL(body.uploadUrl).origin).toBe(origin);
  await own.request("PUT", body.uploadUrl.slice(origin.length), "x", {
    token: null,
    headers: { "content-type": "image/jpeg" },
  });
  const query = `{ file(key: "${body.fileKey}") { downloadUrl } }`;
  const { body: answer } = await own.graphql(query, {}, { headers });
  expect(new URL(answer.data.file.downloadUrl).origin).toBe(origin);
});

test.each([
  ["HTTPS", "public.example.com", "https://public.example.com"],
  ["odd", "public.example.com", "http://public.example.com"],
  ["a b", "a b", "http://files.example.com:8080"],
  ["https", "public.example.com:99999", "https://files.example.com:8080"],
  ["Https", "[", "https://files.example.com:8080"],
])("a request that a proxy forwards with %j and %j gets URLs of %s", async (scheme, forwarded, origin) => {
  await using own = await startServer({ trustedProxies: ["127.0.0.1"] });
  const file = { fileName: "a.jpg", contentType: "image/jpeg" };
  const headers = {
    host: "files.example.com:8080",
    "x-forwarded-proto": scheme,
    "x-forwarded-host": forwarded,
  };
  const { body } = await own.post("/files/generate-upload-url", file, { headers });
  expect(new URL(body.uploadUrl).origin).toBe(origin);
});

test.each(["a b", "[", "evil.example.com:99999", `${"a.".repeat(147)}b`])(
  "a request by the host %j gets no URL",
  async (host) => {
    const file = { fileName: "a.jpg", contentType: "image/jpeg" };
    const { status, body } = await server.post("/files/generate-upload-url", file, { headers: { host } });
    expect({ status, code: body.code }).toEqual({ status: 400, code: "BAD_REQUEST" });
  },
);

test("neither signatures nor the keys that make them are logged", async () => {
  const { uploadUrl, downloadUrl } = await uploaded();
  expect((await put(withQuery(uploadUrl, "expires", "1"), BYTES)).status).toBe(403);
  expect((await fetch(downloadUrl)).status).toBe(200);
  const { files } = await storedIn(server);
  const log = lines.join("");
  expect(log).toContain("/files/upload/");
  for (const secret of [
    signatureOf(uploadUrl),
    signatureOf(downloadUrl),
    ...files.map((file) => file.secret),
  ])
    expect(log).not.toContain(secret);
});
