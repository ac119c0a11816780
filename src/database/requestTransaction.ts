import { setImmediate as nextTurn } from "node:timers/promises";
import { IsolationLevel } from "@mikro-orm/core";
import { GabbroError } from "../errors.ts";
import { whileWaiting } from "../limits/eventLoop.ts";
import { afterTurns, createPause } from "../limits/turns.ts";
import { endsTransaction, isUniqueViolation } from "./driverErrors.ts";
import type { Database, EntityManager } from "./open.ts";

/** The database and the unit of work of one request whose writes are one transaction. */
export interface RequestTransaction {
  database: Database;
  em: EntityManager;
  /**
   * Throws what ended the transaction: GraphQL answers with the error of a field, and goes on. `fieldErrors` are those of
   * its fields, which may end the transaction as well.
   */
  throwFailure(fieldErrors?: readonly unknown[]): void;
}

interface TransactionOptions {
  database: Database;
  workspaceId: string;
  endsAtDuplicate: boolean;
}

/** On SQLite nobody else writes meanwhile. A template, or a model's tokens, may take seconds between two writes. */
export const MAX_OPEN_MS = 1_000;

type Join = <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>;

/** How transactions join that of their request, and the bytes that it has copied. */
const joins = new WeakMap<EntityManager, { join: Join; copiedBytes: number }>();

/** How transactions of this unit of work join that of its request; undefined where each stands alone. */
export function joinOf(em: EntityManager): Join | undefined {
  return joins.get(em)?.join;
}

/**
 * SQLite brings all that a transaction wrote to the disk when it commits: 270 MB kept others waiting for 0.6 s, and changes of two
 * rows of 10 MB for 0.4 to 0.7 s. One of the largest rows can be changed.
 */
const MAX_COPIED_BYTES = 10 * 1024 * 1024;

/**
 * Counts what a write makes of stored data, such as copies of rows that it changes: the body of the request does not bound it.
 * Throws BAD_INPUT when the transaction of the request has copied more than 10 MB. Without such a transaction nothing is
 * counted, as each write bounds its own.
 */
export function countCopied(em: EntityManager, bytes: number): void {
  const joined = joins.get(em);
  if (!joined) return;
  joined.copiedBytes += bytes;
  if (joined.copiedBytes <= MAX_COPIED_BYTES) return;
  throw new GabbroError(
    "BAD_INPUT",
    "With an Idempotency-Key all writes of a request are one transaction, and these copy or add more than 10 MB beside what they send. Send fewer of them.",
  );
}

/**
 * Runs a request in one transaction, which its first write begins; reads see what was written before them. Serializable ones
 * would conflict with those of all workspaces, as their keys are on the same pages: what a write depends on is locked or updated.
 * `last` then adds what belongs to it, unless nothing was written. Notifications follow the commit. Throws TIMED_OUT when it
 * stays open for a second, and the driver's error when another transaction was in its way: nothing is stored then, and the
 * caller runs it again. With `endsAtDuplicate` a duplicate row is such an error, too: the request may have looked for the row
 * before another transaction added it, and only a new transaction finds it.
 */
export async function inRequestTransaction<Result>(
  { database, workspaceId, endsAtDuplicate }: TransactionOptions,
  run: (request: RequestTransaction) => Promise<Result>,
  last: (request: RequestTransaction, result: Result) => Promise<void>,
): Promise<Result> {
  const { request, hasWritten, commit, rollback } = createUnit(database, workspaceId, endsAtDuplicate);
  try {
    const result = await run(request);
    request.throwFailure();
    if (!hasWritten()) {
      await rollback(new Error("The request has ended.")); // a refused write may have begun it
      return result;
    }
    await last(request, result);
    request.throwFailure();
    await commit();
    return result;
  } catch (error) {
    throw await rollback(error);
  }
}

function createUnit(database: Database, workspaceId: string, endsAtDuplicate: boolean) {
  const em = database.fork(workspaceId);
  const transaction = database.fork(workspaceId);
  const afterCommit: (() => void)[] = [];
  const pause = createPause();
  let beginning: Promise<void> | undefined;
  let hasWritten = false;
  let failure: unknown;
  let timer: NodeJS.Timeout | undefined;
  let endTurn = () => {};
  const rollback = async (reason: unknown) => {
    failure ??= reason;
    await beginning?.catch(() => {}); // or it would begin afterwards, and nobody would end it
    clearTimeout(timer);
    em.resetTransactionContext();
    // It did not begin, or its connection is lost and with it all that it wrote.
    if (transaction.isInTransaction()) await transaction.rollback().catch(() => {});
    endTurn();
    return failure;
  };
  const begin = async () => {
    const release = await whileWaiting(() => database.requestTransactions.acquire(workspaceId));
    const sinceMs = performance.now();
    endTurn = () => afterTurns(sinceMs, release); // as `inTransaction` does
    await transaction.begin({ isolationLevel: IsolationLevel.REPEATABLE_READ });
    for (const statement of database.dialect.openTransaction) await transaction.execute(statement);
    em.setTransactionContext(transaction.getTransactionContext());
    timer = setTimeout(() => void rollback(heldTooLong()), MAX_OPEN_MS);
  };
  const join: Join = async (work) => {
    try {
      if (!failure) beginning ??= begin();
      await beginning;
      if (failure) throw failure;
      const result = await em.fork({ keepTransactionContext: true }).transactional(work);
      hasWritten = true;
      await pause(); // the next mutation follows in the same turn, and many short ones take as long as a long one
      return result;
    } catch (error) {
      if (endsTransaction(error) || (endsAtDuplicate && isUniqueViolation(error))) failure ??= error;
      throw error;
    }
  };
  joins.set(em, { join, copiedBytes: 0 });
  const request = {
    em,
    database: joinedDatabase(database, em, { join, afterCommit }),
    throwFailure: (fieldErrors: readonly unknown[] = []) => {
      // No resolver has said that this row may not be added: it was looked for too early, and a new transaction finds it.
      if (beginning)
        failure ??= fieldErrors.find((error) => endsTransaction(error) || isUniqueViolation(error));
      if (failure) throw failure;
    },
  };
  const commit = async () => {
    clearTimeout(timer);
    await transaction.commit();
    endTurn();
    await publishAll(afterCommit, pause);
  };
  return { request, hasWritten: () => hasWritten, commit, rollback };
}

async function publishAll(messages: (() => void)[], pause: () => Promise<unknown>): Promise<void> {
  for (const publish of messages) {
    publish();
    await pause();
  }
}

function heldTooLong(): GabbroError {
  const message =
    "Nothing was stored: with an Idempotency-Key all writes of a request are one transaction, and this one held up others for a second. Send it with fewer mutations.";
  return new GabbroError("TIMED_OUT", message);
}

/** The database as the transaction sees it, once that has begun. */
function joinedDatabase(
  database: Database,
  em: EntityManager,
  { join, afterCommit }: { join: Join; afterCommit: (() => void)[] },
): Database {
  const { pubSub } = database;
  const refuse = (): never => {
    throw new Error("A request with a transaction of its own writes nothing beside it: use inTransaction.");
  };
  const add: Database["commit"] = Object.assign(
    (rows: Parameters<Database["commit"]>[0]) => join((nested) => database.insertWithin(nested, rows)),
    database.commit,
  );
  return {
    ...database,
    get read() {
      return em.isInTransaction() ? database.readWithin(em) : database.read;
    },
    get write() {
      return refuse();
    },
    putInBulk: refuse,
    rows: async (query) => (em.isInTransaction() ? database.rowsWithin(em, query) : database.rows(query)),
    commit: add,
    // Writers of all workspaces may wait for this transaction, so it does not wait for the turns of its own.
    turn: (workspaceId) => (em.isInTransaction() ? nextTurn() : database.turn(workspaceId)),
    // What is cached for all must not depend on what only this transaction sees.
    generation: {
      ...database.generation,
      now: () => (em.isInTransaction() ? null : database.generation.now()),
      commits: () => (em.isInTransaction() ? null : database.generation.commits()),
    },
    pubSub: {
      ...pubSub,
      publish: (...message) => void afterCommit.push(() => pubSub.publish(...message)),
      prompts: {
        ...pubSub.prompts,
        publish: (...message) => void afterCommit.push(() => pubSub.prompts.publish(...message)),
      },
    },
  };
}
