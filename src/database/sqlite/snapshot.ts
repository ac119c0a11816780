import type { SqlEntityManager } from "@mikro-orm/sql";
import type { Database } from "better-sqlite3";
import { isLocked } from "../driverErrors.ts";
import { handleOf } from "./connection.ts";
import { BUSY_MS } from "./pragmas.ts";

/** Runs `run` on one snapshot, which does not change while other programs write. */
export async function withSnapshot<T>(
  em: SqlEntityManager,
  run: (handle: Database) => Promise<T>,
): Promise<T> {
  const handle = await handleOf(em, "read");
  handle.exec("begin");
  try {
    handle.prepare("select 1 from sqlite_master").all([]); // starts the snapshot
    return await run(handle);
  } finally {
    await endBetweenCommits(em, handle);
    checkpoint(handle);
  }
}

/** The disk often ends the flushes of a backup and of a commit together: then the next commit would begin before `checkpoint`. */
async function endBetweenCommits(em: SqlEntityManager, handle: Database): Promise<void> {
  const writer = await handleOf(em, "write");
  writer.pragma(`busy_timeout = ${MAX_WAIT_MS}`);
  try {
    writer.exec("begin immediate");
  } catch (error) {
    if (!isLocked(error)) throw error; // else another process writes for long, and the snapshot ends at any moment
  } finally {
    writer.pragma(`busy_timeout = ${BUSY_MS}`);
    handle.exec("commit");
  }
  if (writer.inTransaction) writer.exec("rollback");
}

const MAX_WAIT_MS = 2_000;

const MAX_ROUNDS = 100;

interface Checkpoint {
  busy: 0 | 1;
  /** Pages in the write-ahead log, and how many of them are in the file. */
  log: number;
  checkpointed: number;
}

/**
 * Copies the write-ahead log, which has grown during the snapshot, to the file: else the next commit of a server copies all of
 * it, and nobody is answered meanwhile. Commits go on beside it, so further rounds copy what they add; SQLite flushes the file
 * in the round that leaves nothing.
 */
function checkpoint(handle: Database): void {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const [{ busy, log, checkpointed }] = handle.pragma("wal_checkpoint(passive)") as [Checkpoint];
    if (!busy && log === checkpointed) return;
  }
}
