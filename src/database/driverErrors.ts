import { GabbroError } from "../errors.ts";

// The codes of SQLite, of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html) and of the network
// never overlap, so one pattern of each kind serves both databases.
const DUPLICATE = /^(?:SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY)|23505)$/;
const ORPHAN = /^(?:SQLITE_CONSTRAINT_FOREIGNKEY|23503)$/;
const LOCKED = /^(?:SQLITE_BUSY.*|40001|40P01|55P03)$/;
const FAILING =
  /^(?:SQLITE_(?:FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN).*|25006|53...|57014|58...|XX...)$/;
const UNREACHABLE =
  /^(?:08...|25006|53...|57014|57P0.|25P03|ECONN(?:REFUSED|RESET)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH)$/;
const STATEMENT_TIMEOUT = "57014";
/** Messages of PostgreSQL's driver for errors without a code. */
const CONNECTION_LOST =
  /^(?:Connection terminated(?! due to connection timeout)|Client has encountered a connection error)/;
const CONNECTION_TIMEOUT =
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

const outages = [
  {
    codes: LOCKED,
    message: "The database is locked by another process; try again in a moment.",
    retryAfter: "1",
  },
  {
    // Where a caller may not add the row again, that is said before this. On SQLite nobody else writes meanwhile.
    codes: /^23505$/,
    message: "Another request stored the same in this moment; try again in a moment.",
    retryAfter: "1",
  },
  {
    codes: /^(?:SQLITE_FULL|53100)$/,
    message: "The disk of the database is full: writes fail until there is room; reads still work.",
    retryAfter: "10",
  },
  {
    codes: /^(?:SQLITE_READONLY.*|25006)$/,
    message: "The database takes no changes at the moment; reads still work.",
    retryAfter: "10",
  },
  {
    codes: /^(?:SQLITE_(?:IOERR|CANTOPEN).*|58...)$/,
    message: "The files of the database cannot be read or written; the log of the server has the reason.",
    retryAfter: "10",
  },
  {
    // Not an error of the request: it succeeds again once a backup is restored. For clients it is a longer outage.
    codes: /^(?:SQLITE_(?:CORRUPT|NOTADB).*|XX00[12])$/,
    message: "The database is damaged in the place that this request uses; a backup must be restored.",
    retryAfter: "60",
  },
];

const codeOf = (error: unknown) => String((error as { code?: unknown } | null)?.code ?? "");

/** Whether the database refused a row because another one has the same key. */
export function isUniqueViolation(error: unknown): boolean {
  return DUPLICATE.test(codeOf(error));
}

/** The columns and values by which a row is a duplicate; "undefined" on SQLite, which does not say them. */
export const duplicateOf = (error: unknown): string => String((error as { detail?: unknown }).detail);

/** Whether the database refused a row because its parent does not exist. */
export function isOrphan(error: unknown): boolean {
  return ORPHAN.test(codeOf(error));
}

/** Whether a transaction failed only because of a concurrent one, so that it may run again. */
export function isLocked(error: unknown): boolean {
  return LOCKED.test(codeOf(error));
}

/** Whether the database itself fails, so that any other statement would fail too. */
export function failsWholeBatch(error: unknown): boolean {
  return error instanceof GabbroError || isFailing(error);
}

/** Whether the transaction cannot continue after this error. */
export function endsTransaction(error: unknown): boolean {
  return isLocked(error) || isFailing(error);
}

function isFailing(error: unknown): boolean {
  return FAILING.test(codeOf(error)) || isUnreachable(error);
}

/** Whether the database ended a statement at its time limit. */
export function wasTimedOut(error: unknown): boolean {
  return codeOf(error) === STATEMENT_TIMEOUT;
}

/** Whether another server may succeed, because this one was lost or busy with replication. */
export function isWorthAnotherServer(error: unknown): boolean {
  return (isUnreachable(error) && !wasTimedOut(error)) || isLocked(error);
}

/** The error for the caller when the database is unavailable; undefined for other errors. */
export function unavailable(error: unknown): GabbroError | undefined {
  const outage = outages.find(({ codes }) => codes.test(codeOf(error)));
  if (!outage && !isUnreachable(error)) return undefined;
  const { message, retryAfter } = outage ?? noAnswer(error);
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": retryAfter }, cause: error });
}

const noAnswer = (error: unknown) => ({
  message: `The database does not answer; try again in a moment.${isUncertain(error) ? UNCERTAIN : ""}`,
  retryAfter: "1",
});

const UNCERTAIN =
  " The writes of this request may be stored all the same: with an Idempotency-Key it can safely be sent again.";

/** Whether the connection was lost during a statement, which may have been executed. */
function isUncertain(error: unknown): boolean {
  return (
    /^(?:57P0.|ECONNRESET|EPIPE|ETIMEDOUT)$/.test(codeOf(error)) || CONNECTION_LOST.test(messageOf(error))
  );
}

const messageOf = (error: unknown) => String((error as Error | null)?.message ?? "");

function isUnreachable(error: unknown): boolean {
  return (
    UNREACHABLE.test(codeOf(error)) ||
    CONNECTION_LOST.test(messageOf(error)) ||
    CONNECTION_TIMEOUT.test(messageOf(error))
  );
}

/** Removes user data from an error for the log: PostgreSQL quotes rows that it refuses, JavaScript text that is not JSON. */
export function withoutParameters<E>(error: E): E {
  if (!(error instanceof Error)) return error;
  for (const row of rowsIn(error)) {
    error.message = error.message.replace(row, "");
    error.stack = error.stack?.replaceAll(row, "");
  }
  if ("detail" in error) Object.assign(error, { detail: undefined, where: undefined });
  withoutParameters(error.cause);
  return error;
}

function rowsIn(error: Error): string[] {
  if (error instanceof SyntaxError) return quotedTextIn(error.message);
  return "detail" in error ? [` - detail: ${error.detail}`] : [];
}

/** The part of `Unexpected token 'x', "the text" is not valid JSON` that repeats the text. */
function quotedTextIn(message: string): string[] {
  const start = message.search(/, (?:\.\.\.)?"/);
  const end = message.lastIndexOf(" is not valid JSON");
  return start >= 0 && end > start ? [message.slice(start, end)] : [];
}
