import { randomBytes } from "node:crypto";
import { parse } from "content-disposition";
import { afterAll, expect, test, vi } from "vitest";
import { removeUnusedFiles } from "../../src/files/removal.resolvers.ts";
import { addDataset, addToken } from "../support/data.ts";
import { announce, announced, fileOf, put, storedIn } from "../support/files.ts";
import { startServer } from "../support/server.ts";

vi.setConfig({ testTimeout: 30_000 });

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const MB = 1024 * 1024;
const stream = (bytes: Buffer) => new Blob([new Uint8Array(bytes)]).stream();

/** Announces and uploads a file. */
async function upload(bytes: Buffer, file: { fileName?: string; contentType?: string } = {}) {
  const { uploadUrl, fileKey } = await announced(server, file);
  expect(await put(uploadUrl, bytes, file.contentType)).toMatchObject({ status: 200, body: {} });
  return fileKey;
}

async function download(key: string) {
  const { downloadUrl } = await fileOf(server, key);
  const response = await fetch(downloadUrl);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

test("a file is announced, uploaded without a token, named in a row and downloaded without a token", async () => {
  await addDataset(server, { slug: "pictures", columns: [{ name: "picture", type: "image" }] });
  const bytes = randomBytes(700_000);
  const answer = await announced(server, { fileName: "Nairobi.JPG", sizeBytes: bytes.length });
  expect(answer).toEqual({
    uploadUrl: expect.stringMatching(`^${server.url}/files/upload/`),
    fileKey: expect.stringMatching(/^datasets\/[\da-f-]{36}\/[\da-f-]{36}\.jpg$/),
    expiresAt: expect.any(String),
    maxSizeBytes: 10 * MB,
  });
  const minutes = (Date.parse(answer.expiresAt) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(14);
  expect(minutes).toBeLessThanOrEqual(15);
  expect(await put(answer.uploadUrl, bytes)).toMatchObject({ status: 200, body: {} });
  const row = await server.post("/datasets/pictures/items", { values: { picture: answer.fileKey } });
  expect(row.status).toBe(201);
  const { body } = await server.get("/datasets/pictures");
  const key = body.dataset.rows[0].values.picture;
  expect(key).toBe(answer.fileKey);
  expect(await fileOf(server, key)).toEqual({
    key,
    name: "Nairobi.JPG",
    contentType: "image/jpeg",
    sizeBytes: bytes.length,
    createdAt: expect.any(String),
    downloadUrl: expect.stringMatching(`^${server.url}/files/download/${key}\\?expires=`),
  });
  expect((await download(key)).bytes.equals(bytes)).toBe(true);
});

test.each([1, 256 * 1024, 256 * 1024 + 1, 10 * MB])(
  "a file of %i bytes comes back as it was sent, with and without a length in its request",
  async (length) => {
    const bytes = randomBytes(length);
    for (const body of [bytes, stream(bytes)]) {
      const { uploadUrl, fileKey } = await announced(server);
      expect((await put(uploadUrl, body)).status).toBe(200);
      expect((await download(fileKey)).bytes.equals(bytes)).toBe(true);
      expect((await fileOf(server, fileKey)).sizeBytes).toBe(length);
    }
  },
);

test("the same content may be sent again, and another is refused and changes nothing", async () => {
  const [bytes, others] = [randomBytes(300_000), randomBytes(300_000)];
  const { uploadUrl, fileKey } = await announced(server);
  expect((await put(uploadUrl, bytes)).status).toBe(200);
  const before = await storedIn(server);
  expect(await put(uploadUrl, bytes)).toMatchObject({ status: 200 });
  expect(await put(uploadUrl, others)).toMatchObject({ status: 409, code: "CONFLICT" });
  expect(await storedIn(server)).toEqual(before);
  expect((await download(fileKey)).bytes.equals(bytes)).toBe(true);
});

test("of two contents that are uploaded at the same time, one is stored and the other is refused", async () => {
  const { uploadUrl, fileKey } = await announced(server);
  const contents = [randomBytes(600_000), randomBytes(600_000)];
  const answers = await Promise.all(contents.map((bytes) => put(uploadUrl, bytes)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  const stored = contents[answers.findIndex(({ status }) => status === 200)]!;
  expect((await download(fileKey)).bytes.equals(stored)).toBe(true);
  const { files, chunks } = await storedIn(server);
  const { id, upload } = files.at(-1)!;
  const uploads = chunks.filter(({ file }) => file === id).map((chunk) => chunk.upload);
  expect(new Set(uploads)).toEqual(new Set([upload]));
});

test("one content that is uploaded twice at the same time is stored once", async () => {
  const { uploadUrl } = await announced(server);
  const bytes = randomBytes(600_000);
  const answers = await Promise.all([put(uploadUrl, bytes), put(uploadUrl, bytes)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const { files, chunks } = await storedIn(server);
  const own = chunks.filter(({ file }) => file === files.at(-1)!.id);
  expect(new Set(own.map(({ upload }) => upload)).size).toBe(1);
});

const sizes = [
  { what: "a longer body than announced", sizeBytes: 9, body: 10, status: 400 },
  { what: "a shorter body than announced", sizeBytes: 300_001, body: 300_000, status: 400 },
  { what: "an empty body", sizeBytes: null, body: 0, status: 400 },
  { what: "more than 10 MB", sizeBytes: null, body: 10 * MB + 1, status: 413 },
];

test.each(
  sizes.flatMap((one) => [
    { ...one, length: "a" },
    { ...one, length: "no" },
  ]),
)(
  "$what with $length length in its request is refused, and nothing is stored",
  async ({ sizeBytes, body, status, length }) => {
    const { uploadUrl, fileKey } = await announced(server, { sizeBytes });
    const before = await storedIn(server);
    const bytes = Buffer.alloc(body, 1);
    expect(await put(uploadUrl, length === "a" ? bytes : stream(bytes))).toMatchObject({ status });
    expect(await storedIn(server)).toEqual(before);
    expect(await fileOf(server, fileKey)).toEqual({ error: "FILE_NOT_FOUND" });
  },
);

test("a file that was refused can be uploaded again by the same URL", async () => {
  const { uploadUrl, fileKey } = await announced(server, { sizeBytes: 300_000 });
  expect((await put(uploadUrl, stream(Buffer.alloc(300_001)))).status).toBe(400);
  expect((await put(uploadUrl, stream(Buffer.alloc(300_000)))).status).toBe(200);
  expect((await download(fileKey)).bytes.length).toBe(300_000);
});

test.each([
  ["image/jpeg", "image/png", 415],
  ["image/jpeg", "IMAGE/JPEG", 200],
  ["text/html; charset=utf-8", "text/html;charset=UTF-8", 200],
  ["text/html; charset=utf-8", "text/html", 415],
])(
  "of a file that is announced as %s, an upload as %s is answered with %i",
  async (contentType, sent, status) => {
    const { uploadUrl } = await announced(server, { contentType });
    expect((await put(uploadUrl, Buffer.from("x"), sent)).status).toBe(status);
  },
);

test.each([
  ["photo.jpg", "photo.jpg"],
  ["reports/2026/q1.pdf", "q1.pdf"],
  ["C:\\Users\\amina\\photo.jpg", "photo.jpg"],
  ["../../etc/passwd", "passwd"],
  ['a "quoted"; name.jpg', 'a "quoted"; name.jpg'],
  ["бюджет €.pdf", "бюджет €.pdf"],
  ["🦓.png", "🦓.png"],
  ["100%41.txt", "100%41.txt"],
])("a file that is announced as %s is downloaded as %s", async (fileName, expected) => {
  const key = await upload(Buffer.from("x"), { fileName });
  expect((await fileOf(server, key)).name).toBe(expected);
  const header = (await download(key)).headers.get("content-disposition")!;
  expect(header).toMatch(/^attachment; filename=[\x20-\x7e]+$/);
  const { type, parameters } = parse(header);
  expect({ type, name: parameters.filename }).toEqual({ type: "attachment", name: expected });
});

test("a file that a browser could run is downloaded, and neither shown nor run", async () => {
  const key = await upload(Buffer.from("<script>alert(1)</script>"), {
    fileName: "page.html",
    contentType: "text/html",
  });
  const { headers } = await download(key);
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "text/html",
    "content-disposition": "attachment; filename=page.html",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cache-control": "private, no-store",
  });
});

test("a keyed request that is sent again announces no second file", async () => {
  const call = { headers: { "idempotency-key": "once" } };
  const body = { fileName: "a.jpg", contentType: "image/jpeg" };
  const first = await server.post("/files/generate-upload-url", body, call);
  const again = await server.post("/files/generate-upload-url", body, call);
  expect(again.body).toEqual(first.body);
  expect(again.headers["idempotent-replayed"]).toBe("true");
});

test.each([
  ["a name with a line break", { fileName: "a\r\nX-Evil: 1.jpg" }, "fileName"],
  ["a name without a file", { fileName: "folder/.." }, "fileName"],
  ["an empty name", { fileName: "" }, "fileName"],
  ["a very long name", { fileName: "a".repeat(256) }, "fileName"],
  ["a content type with a line break", { contentType: "image/jpeg\r\nX-Evil: 1" }, "contentType"],
  ["a content type that is none", { contentType: "jpeg" }, "contentType"],
  ["a length that is no whole number", { sizeBytes: 1.5 }, "sizeBytes"],
  ["the length 0", { sizeBytes: 0 }, "sizeBytes"],
  ["a length of more than 10 MB", { sizeBytes: 10 * MB + 1 }, "sizeBytes"],
])("%s is refused when the file is announced", async (_, file, path) => {
  const before = await storedIn(server);
  const { status, body } = await announce(server, file);
  expect({
    status,
    code: body.code,
    paths: body.details.map((detail: { path: string }) => detail.path),
  }).toEqual({ status: 400, code: "BAD_INPUT", paths: [path] });
  expect(await storedIn(server)).toEqual(before);
});

test("the OpenAPI document states which names of files are refused for their characters", async () => {
  const { body } = await server.get("/openapi.json");
  const { content } = body.paths["/files/generate-upload-url"].post.requestBody;
  const name = content["application/json"].schema.$ref.split("/").at(-1);
  const { fileName } = body.components.schemas[name].properties;
  const patterns = [fileName, ...(fileName.allOf ?? [])].flatMap(({ pattern }) => pattern ?? []);
  const isStated = (name: string) => patterns.every((pattern) => new RegExp(pattern).test(name));
  for (const refused of ["a\0b", "a\r\nb", "\u007f", "\u009f.jpg"]) expect(isStated(refused)).toBe(false);
  for (const accepted of ["a b.jpg", "\u00a0é\u2028", "folder/a.jpg"]) expect(isStated(accepted)).toBe(true);
});

test("files that were not uploaded within a day are removed, and those that were stay", async () => {
  await using own = await startServer();
  const [old, used, young] = [await announced(own), await announced(own), await announced(own)];
  await put(used.uploadUrl, Buffer.from("x"));
  const idOf = ({ fileKey }: { fileKey: string }) => fileKey.split("/")[2]!.split(".")[0]!;
  await own.database.write
    .updateTable("StoredFile")
    .set({ createdAt: new Date(Date.now() - 24 * 60 * 60_000 - 1_000) })
    .where("id", "in", [idOf(old), idOf(used)])
    .execute();
  await removeUnusedFiles(own.database, new AbortController().signal);
  const { files } = await storedIn(own);
  expect(files.map(({ id }) => id)).toEqual([idOf(used), idOf(young)]);
});

test.each(["GET", "POST"])(
  "%s /auth/verify answers what the token is good for, and 401 without one",
  async (method) => {
    const { token } = await addToken(server, { scopes: ["read", "publish"] });
    const { status, body } = await server.request(method, "/auth/verify", undefined, { token });
    const { fileKey } = await announced(server);
    expect({ status, body }).toEqual({
      status: 200,
      body: { valid: true, workspaceId: fileKey.split("/")[1], scopes: ["read", "publish"] },
    });
    for (const invalid of [null, "gab_nonsense"])
      expect((await server.request(method, "/auth/verify", undefined, { token: invalid })).status).toBe(401);
  },
);
