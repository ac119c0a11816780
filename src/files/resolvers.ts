import { z } from "zod";
import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { createFinder } from "../database/loader.ts";
import type { Database } from "../database/open.ts";
import { GabbroError, quoted } from "../errors.ts";
import { idOf } from "../validation/text.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { type FileInput, type GenerateUploadUrlInput, MAX_FILE_BYTES } from "./inputs.ts";
import { isExpired, isSigned, newSecret, type Purpose, signedPath } from "./signatures.ts";

/** A file as it is stored, with the key by which rows of datasets name it. */
export interface FileHead {
  id: string;
  workspace: string;
  key: string;
  name: string;
  contentType: string;
  announcedBytes: number | null;
  secret: string;
  upload: string | null;
  sizeBytes: number | null;
  sha256: string | null;
  createdAt: Date;
}

/** A file whose content has arrived. */
export type CompleteFile = FileHead & { upload: string; sizeBytes: number };

/** Announces a file, and returns the URL to which its content is to be sent. */
export async function generateUploadUrl(
  context: Context,
  { fileName, contentType, sizeBytes }: GenerateUploadUrlInput,
) {
  const workspace = authorize(context, "write");
  const origin = context.origin(); // throws, so before anything is stored
  const file = { id: newId(), workspace, name: fileName, secret: newSecret() };
  const notUploaded = { announcedBytes: sizeBytes ?? null, upload: null, sizeBytes: null, sha256: null };
  const row = { ...file, ...notUploaded, contentType, createdAt: new Date() };
  await context.database.commit([["StoredFile", row]]);
  const fileKey = keyOf(file);
  const { path, expiresAt } = signedPath("upload", { key: fileKey, secret: file.secret });
  return { uploadUrl: origin + path, fileKey, expiresAt, maxSizeBytes: MAX_FILE_BYTES };
}

/** The file with that key; FILE_NOT_FOUND when the workspace has none, or its content has not arrived. */
export async function file(context: Context, { key }: FileInput): Promise<CompleteFile> {
  const workspace = authorize(context, "read");
  const found = await findFile(context.database, key);
  if (found?.workspace !== workspace) throw fileNotFound(key);
  return getComplete(found);
}

/** The file with that id; null when the workspace has none whose content has arrived. */
export const findFileById: (context: Context, id: string) => Promise<CompleteFile | null> = createFinder(
  async (context, ids) => {
    const rows = await context.database.read
      .selectFrom("StoredFile")
      .selectAll()
      .where("workspace", "=", authorize(context, "read"))
      .where("id", "in", ids)
      .execute();
    return rows.map((row) => ({ ...row, key: keyOf(row) })).filter(isComplete);
  },
);

/** The file itself; FILE_NOT_FOUND when its content has not arrived. */
export function getComplete(file: FileHead): CompleteFile {
  if (isComplete(file)) return file;
  throw fileNotFound(file.key);
}

function fileNotFound(key: string): GabbroError {
  return new GabbroError("FILE_NOT_FOUND", `There is no file ${quoted(key)}, or it was not uploaded.`);
}

/** A URL at which the file may be downloaded without a token for 15 minutes. */
export function downloadUrl(context: Context, file: FileHead): string {
  return context.origin() + signedPath("download", file).path;
}

/** The file of a signed URL; FORBIDDEN when Gabbro did not sign the URL for this purpose, or it has expired. */
export async function getSignedFile(
  database: Database,
  purpose: Purpose,
  signed: { workspaceId: string; name: string; expires?: unknown; signature?: unknown },
): Promise<FileHead> {
  const { expires, signature } = signed;
  const found = await findFile(database, `${KEY_FOLDER}/${signed.workspaceId}/${signed.name}`);
  if (
    !found ||
    typeof expires !== "string" ||
    typeof signature !== "string" ||
    !isSigned(purpose, found, { expires, signature })
  )
    throw new GabbroError("FORBIDDEN", `The signature of this URL is wrong. ${ASK_FOR[purpose]}`);
  if (isExpired(expires)) throw new GabbroError("FORBIDDEN", `This URL has expired. ${ASK_FOR[purpose]}`);
  return found;
}

const ASK_FOR: Record<Purpose, string> = {
  upload: "Ask for a new one with POST /files/generate-upload-url.",
  download: "Ask GraphQL for a new one: file(key) { downloadUrl }.",
};

/** Whether the content of a file has arrived. */
export function isComplete(file: FileHead): file is CompleteFile {
  return file.upload !== null && file.sizeBytes !== null;
}

/** What the published clients expect keys to begin with. */
const KEY_FOLDER = "datasets";
const EXTENSION = /\.[a-z0-9]{1,10}$/i;

function keyOf({ id, workspace, name }: Pick<FileHead, "id" | "workspace" | "name">): string {
  const [extension = ""] = EXTENSION.exec(name) ?? [];
  return `${KEY_FOLDER}/${workspace}/${id}${extension.toLowerCase()}`;
}

const idsInKey = z.tuple([z.literal(KEY_FOLDER), idOf("a workspace"), idOf("a file")]);

async function findFile(database: Database, key: string): Promise<FileHead | undefined> {
  const parts = key.split("/", MAX_KEY_PARTS);
  const { data: [, workspace, id] = [] } = idsInKey.safeParse(
    parts.with(-1, parts.at(-1)!.split(".", 1)[0]!),
  );
  if (workspace === undefined || id === undefined) return undefined;
  const row = await database.read
    .selectFrom("StoredFile")
    .selectAll()
    .where("workspace", "=", workspace)
    .where("id", "=", id)
    .executeTakeFirst();
  return row && keyOf(row) === key ? { ...row, key } : undefined;
}

const MAX_KEY_PARTS = 4;
