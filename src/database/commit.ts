import { setTimeout as wait } from "node:timers/promises";
import DataLoader from "dataloader";
import type { Insertable, Kysely } from "kysely";
import { GabbroError } from "../errors.ts";
import type { createEncoder } from "./encode.ts";

/** Rows by the name of their entity, parents first: all of them are stored, or none. */
export type Rows<DB> = { [Entity in keyof DB & string]: [Entity, Insertable<DB[Entity]>] }[keyof DB &
  string][];

type Encoder = ReturnType<typeof createEncoder>;

const MOST_IN_ONE_TRANSACTION = 200;
const PATIENCE_MS = 5_000;
const RETRY_MS = 20;

/**
 * Group commit: what arrives while one transaction is under way shares the next, and its promise settles after that
 * commit. One flush to disk then serves many requests, and a request that the database refuses fails alone.
 */
export function createCommit<DB>(database: Kysely<DB>, encode: Encoder) {
  const loader = new DataLoader((units: readonly Rows<DB>[]) => store(database, encode, units), {
    cache: false,
    maxBatchSize: MOST_IN_ONE_TRANSACTION,
    batchScheduleFn: setImmediate,
  });
  const pending = new Set<Promise<unknown>>();
  const commit = async (rows: Rows<DB>): Promise<void> => {
    const stored = loader.load(rows);
    pending.add(stored);
    try {
      await stored;
    } finally {
      pending.delete(stored);
    }
  };
  return Object.assign(commit, {
    /** Resolves when nothing is waiting to be committed. */
    settled: async () => {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
  });
}

async function store<DB>(
  database: Kysely<DB>,
  encode: Encoder,
  units: readonly Rows<DB>[],
): Promise<(true | Error)[]> {
  try {
    await insert(database, encode, units.flat());
    return units.map(() => true);
  } catch (error) {
    // Only a row that is refused is worth trying the others alone; what ails the database ails them all.
    if (units.length === 1 || ailsAll(error)) return units.map(() => error as Error);
    const results: (true | Error)[] = [];
    for (const unit of units) results.push(...(await store(database, encode, [unit])));
    return results;
  }
}

function ailsAll(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return error instanceof GabbroError || /^SQLITE_(?:FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN)/.test(code);
}

async function insert<DB>(database: Kysely<DB>, encode: Encoder, rows: Rows<DB>): Promise<void> {
  const byEntity = Map.groupBy(rows, ([entity]) => entity);
  await whenUnlocked(() =>
    database.transaction().execute(async (transaction) => {
      for (const [entity, group] of byEntity) {
        const encodeRow = encode(entity);
        const values = group.map(([, row]) => encodeRow(row as Record<string, unknown>)) as never;
        await transaction.insertInto(entity).values(values).execute();
      }
    }),
  );
}

/** Runs `write`, again while another process holds the write lock of the database; gives up as UNAVAILABLE. */
export async function whenUnlocked<T>(write: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error as { code?: string }).code?.startsWith("SQLITE_BUSY")) throw error;
      if (performance.now() > deadline) {
        const message = "The database is locked by another process; try again in a moment.";
        throw new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" }, cause: error });
      }
    }
    await wait(RETRY_MS * (1 + Math.random()));
  }
}

/** Whether the database refused a row because another one has the same key. */
export function isUniqueViolation(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "SQLITE_CONSTRAINT_UNIQUE" || code === "SQLITE_CONSTRAINT_PRIMARYKEY";
}

/** Lets the database refuse what exists already, and says so as a CONFLICT with that sentence. */
export async function refuseDuplicates<T>(message: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isUniqueViolation(error) ? new GabbroError("CONFLICT", message, { cause: error }) : error;
  }
}

/** Whether the database refused a row because what it belongs to is gone. */
export function isOrphan(error: unknown): boolean {
  return (error as { code?: string }).code === "SQLITE_CONSTRAINT_FOREIGNKEY";
}
