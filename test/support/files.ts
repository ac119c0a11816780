import { connect } from "node:net";
import type { Server } from "./server.ts";

export interface Announcement {
  fileName?: unknown;
  contentType?: unknown;
  sizeBytes?: unknown;
}

export interface Announced {
  uploadUrl: string;
  fileKey: string;
  expiresAt: string;
  maxSizeBytes: number;
}

/** Announces a file over a socket, as the published clients do. */
export async function announce(server: Server, file: Announcement = {}, token = server.token) {
  const response = await fetch(`${server.url}/files/generate-upload-url`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ fileName: "a.jpg", contentType: "image/jpeg", ...file }),
  });
  return { status: response.status, body: await response.json() };
}

export async function announced(server: Server, file: Announcement = {}, token = server.token) {
  const { status, body } = await announce(server, file, token);
  if (status !== 200) throw new Error(body.error);
  return body as Announced;
}

/** Sends bytes to a URL; without a length when they are a stream. */
export async function put(url: string, body: Buffer | ReadableStream, contentType = "image/jpeg") {
  const headers = { "content-type": contentType };
  const response = await fetch(url, { method: "PUT", headers, body, duplex: "half" } as RequestInit);
  const answer = await response.json();
  return { status: response.status, code: answer.code as string | undefined, body: answer };
}

/** Sends the head of an upload and the beginning of its body, over a connection that stays open. */
export function beginPut(url: string, { length, beginning }: { length: number; beginning: Buffer }) {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => {}); // it is closed
  socket.on("data", (bytes) => {
    received += bytes;
  });
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Type: image/jpeg\r\nContent-Length: ${length}\r\n\r\n`,
  );
  socket.write(beginning);
  return { socket, received: () => received, closed };
}

/** What is stored of files, in all workspaces. */
export async function storedIn({ database }: Server) {
  const files = await database.read.selectFrom("StoredFile").selectAll().orderBy("id").execute();
  const chunks = await database.read
    .selectFrom("FileChunk")
    .select(["id", "file", "upload"])
    .orderBy("id")
    .execute();
  return { files, chunks };
}

/** The chunks that are of no file's content: those of uploads that go on, or that broke off and are not cleaned up yet. */
export async function unfinishedChunks(server: Server) {
  const { files, chunks } = await storedIn(server);
  const contents = new Set(files.map(({ upload }) => upload));
  return chunks.filter(({ upload }) => !contents.has(upload));
}

const FILE =
  "query($key: String!) { file(key: $key) { key name contentType sizeBytes createdAt downloadUrl } }";

/** What GraphQL answers about a file, with URLs of the socket that the server listens on. */
export async function fileOf(server: Server, key: string, token = server.token) {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ query: FILE, variables: { key } }),
  });
  const { data, errors } = await response.json();
  return errors ? { error: errors[0].extensions.code } : data.file;
}

/** A text without what is other in the URLs of each file: the time and the signature. */
export function withoutSignatures(text: string): string {
  return text
    .replaceAll(/expires=\d+&signature=[\w-]+/g, "<signed>")
    .replaceAll(/expiresAt(\\*"):\\*"[\d:.TZ-]+/g, "expiresAt$1:<time>");
}
