import { ConsoleSession, SignInLink } from "./console/entities.ts";
import {
  Dataset,
  DatasetColumnsRevision,
  DatasetRow,
  DatasetRowRevision,
  DatasetTag,
} from "./datasets/entities.ts";
import { FileChunk, StoredFile } from "./files/entities.ts";
import { RejectedItem } from "./inbox/entities.ts";
import { Experiment, Log, Trace } from "./logs/entities.ts";
import { ModelPrice } from "./pricing/entities.ts";
import { Prompt, PromptTag, PromptTagMove, PromptVersion } from "./prompts/entities.ts";
import { AccessToken, AuditEntry, IdempotentAnswer, Workspace } from "./workspaces/entities.ts";

/** All entities. Add a new one here, and create its migration. */
export const entities = [
  Workspace,
  AccessToken,
  AuditEntry,
  IdempotentAnswer,
  StoredFile,
  FileChunk,
  RejectedItem,
  Dataset,
  DatasetRow,
  DatasetRowRevision,
  DatasetColumnsRevision,
  DatasetTag,
  Prompt,
  PromptVersion,
  PromptTag,
  PromptTagMove,
  Trace,
  Log,
  Experiment,
  ModelPrice,
  ConsoleSession,
  SignInLink,
] as const;

declare module "./database/open.ts" {
  interface Registered {
    entities: typeof entities;
  }
}
