import { createHash } from "node:crypto";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { GabbroError } from "../errors.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { MAX_FILE_BYTES } from "./inputs.ts";
import { removeChunks } from "./removal.resolvers.ts";
import { type CompleteFile, type FileHead, isComplete } from "./resolvers.ts";

/** Bytes of an upload that are in memory, and in one row. */
const CHUNK_BYTES = 256 * 1024;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** An upload holds a chunk in memory however slowly it arrives. */
const uploads = createFairQueue({
  ...{ places: 64, maxWaiting: 500, maxWaitMs: 10_000 },
  busy: "Too many files are being uploaded; try again in a moment.",
});

interface Upload {
  contentType: string | undefined;
  /** The length of the body if it is known. */
  sizeBytes: number | undefined;
  body: AsyncIterable<Buffer>;
}

/**
 * Stores the content of a file. The same content again changes nothing; CONFLICT for another content. Nothing is stored when
 * the body is not as it was announced, or does not arrive as a whole.
 */
export async function uploadFile(database: Database, file: FileHead, upload: Upload): Promise<void> {
  refuseOtherThanAnnounced(file, upload);
  const work = uploads.run(file.workspace, async () => {
    if (isComplete(file)) checkSame(file, (await read(file, upload)).sha256);
    else await store(database, file, upload);
  });
  database.track(work.catch(() => {})); // an upload whose connection is lost has chunks to remove
  await work;
}

async function store(database: Database, file: FileHead, upload: Upload): Promise<void> {
  const id = newId();
  try {
    const content = await read(file, upload, (data) => addChunk(database, file, { upload: id, data }));
    await complete(database, file, { upload: id, ...content });
  } finally {
    // Asks the database: after a lost connection nothing else knows whether the upload became the content.
    const { upload: content } = await contentOf(database, file);
    await removeChunks(database, file, { upload: id, which: content === id ? "all others" : "its own" });
  }
}

function refuseOtherThanAnnounced(file: FileHead, { contentType = "", sizeBytes }: Upload): void {
  if (normalized(contentType) !== normalized(file.contentType)) {
    const message = `This file was announced with the content type ${file.contentType}: send it with this Content-Type.`;
    throw new GabbroError("UNSUPPORTED_MEDIA_TYPE", message);
  }
  if (sizeBytes !== undefined) checkLength(file, sizeBytes);
}

/** Media types are the same in any case, and with any spaces before their parameters. */
const normalized = (mediaType: string) =>
  mediaType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim())
    .join(";");

function refuseTooLarge(bytes: number): void {
  if (bytes > MAX_FILE_BYTES)
    throw new GabbroError("BODY_TOO_LARGE", "The file is larger than 10 MB. Send a smaller one.");
}

function checkLength({ announcedBytes }: FileHead, bytes: number): void {
  refuseTooLarge(bytes);
  if (bytes === 0) throw new GabbroError("BAD_INPUT", "The file is empty. Send its bytes as the body.");
  if (announcedBytes === null || announcedBytes === bytes) return;
  const message = `This file was announced with ${announcedBytes} bytes, and the body has another length. Announce it again.`;
  throw new GabbroError("BAD_INPUT", message);
}

/** Reads a body to its end, and passes it on in chunks. */
async function read(file: FileHead, { body }: Upload, addChunk?: (chunk: Buffer) => Promise<void>) {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  let chunks = 0;
  let parts: Buffer[] = [];
  let partBytes = 0;
  const flush = async () => {
    const chunk = Buffer.concat(parts);
    parts = [];
    partBytes = 0;
    hash.update(chunk);
    if (chunk.length === 0) return;
    chunks += 1;
    await addChunk?.(chunk);
  };
  for await (const part of body) {
    sizeBytes += part.length;
    partBytes += part.length;
    refuseTooLarge(sizeBytes);
    parts.push(part);
    if (partBytes >= CHUNK_BYTES) await flush();
  }
  await flush();
  checkLength(file, sizeBytes);
  return { chunks, sizeBytes, sha256: hash.digest("hex") };
}

async function addChunk(
  database: Database,
  { id, workspace }: FileHead,
  { upload, data }: { upload: string; data: Buffer },
): Promise<void> {
  const row = { id: newId(), workspace, file: id, upload, data: data.toString("base64") };
  await database.commit([["FileChunk", row]]);
}

/**
 * Makes an upload the content of its file, unless another upload of the same content was faster. Throws CONFLICT when that
 * had another content, and UNAVAILABLE when chunks of the upload are missing.
 */
async function complete(
  database: Database,
  file: FileHead,
  { chunks, ...content }: { upload: string; chunks: number; sizeBytes: number; sha256: string },
): Promise<void> {
  await retryWhileLocked(() =>
    database.write
      .updateTable("StoredFile")
      .set(content)
      .where("workspace", "=", file.workspace)
      .where("id", "=", file.id)
      .where("upload", "is", null)
      // A statement whose connection was lost may run once the chunks are removed.
      .where(
        (query) =>
          query
            .selectFrom("FileChunk")
            .select(({ fn }) => fn.countAll<number>().as("chunks"))
            .where("workspace", "=", file.workspace)
            .where("file", "=", file.id)
            .where("upload", "=", content.upload),
        "=",
        chunks,
      )
      .execute(),
  );
  const stored = await contentOf(database, file);
  if (stored.upload === null)
    throw new GabbroError("UNAVAILABLE", "The upload was not completed. Send the file again.", {
      headers: { "retry-after": "1" },
    });
  checkSame(stored, content.sha256);
}

function contentOf({ read }: Database, { id, workspace }: FileHead) {
  return read
    .selectFrom("StoredFile")
    .select(["upload", "sha256"])
    .where("workspace", "=", workspace)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
}

function checkSame(stored: Pick<FileHead, "sha256">, sha256: string): void {
  if (stored.sha256 === sha256) return;
  const message = "This file has another content already. Announce another file to upload this one.";
  throw new GabbroError("CONFLICT", message);
}

/** The content of a file, a chunk at a time, in turns of its workspace. */
export async function* fileContent(
  database: Database,
  { id, workspace, upload }: CompleteFile,
): AsyncGenerator<Buffer> {
  for (let after = FIRST_ID; ; ) {
    await database.turn(workspace); // before the first chunk too: hundreds of downloads may begin at once
    const chunk = await database.read
      .selectFrom("FileChunk")
      .select(["id", "data"])
      .where("workspace", "=", workspace)
      .where("file", "=", id)
      .where("upload", "=", upload)
      .where("id", ">", after)
      .orderBy("id")
      .limit(1)
      .executeTakeFirst();
    if (!chunk) return;
    yield Buffer.from(chunk.data, "base64");
    after = chunk.id;
  }
}
