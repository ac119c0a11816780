import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { timestamp } from "../database/columnTypes.ts";
import { Workspace } from "../workspaces/entities.ts";

/** A file that rows of datasets name by its key: it is announced first, and its content follows. */
export const StoredFile = defineEntity({
  name: "StoredFile",
  tableName: "files",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    name: p.text(),
    contentType: p.text(),
    announcedBytes: p.integer().strictNullable(),
    /** The key that signs the URLs of this file. A key of its own is made, copied and removed with it. */
    secret: p.text(),
    /** The upload whose chunks are the content; null until one is complete. */
    upload: p.uuid().strictNullable(),
    sizeBytes: p.integer().strictNullable(),
    sha256: p.string().length(64).strictNullable(),
    createdAt: timestamp(),
  },
  indexes: [{ properties: ["upload", "createdAt"] }],
});
export type StoredFile = InferEntity<typeof StoredFile>;

/** A piece of an upload. The pieces are in the order of their ids. */
export const FileChunk = defineEntity({
  name: "FileChunk",
  tableName: "file_chunks",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    file: () => p.manyToOne(StoredFile).ref().index(false).deleteRule("cascade"),
    upload: p.uuid(),
    /** The bytes in base64, a text that is copied between databases as it is. */
    data: p.text(),
  },
  // Begins with the parent: the database finds the children of a deleted parent by it.
  indexes: [{ properties: ["file", "workspace", "upload", "id"] }],
});
export type FileChunk = InferEntity<typeof FileChunk>;
