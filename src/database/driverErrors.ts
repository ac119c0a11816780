import { GabbroError } from "../errors.ts";

// The codes of SQLite, of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html) and of the network
// never look alike, so one list each serves for both databases.
const DUPLICATE = /^(?:SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY)|23505)$/;
const ORPHAN = /^(?:SQLITE_CONSTRAINT_FOREIGNKEY|23503)$/;
const IN_THE_WAY = /^(?:SQLITE_BUSY.*|40001|40P01|55P03)$/;
const FAILING =
  /^(?:SQLITE_(?:FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN).*|25006|53...|57014|58...|XX...)$/;
const OUT_OF_REACH =
  /^(?:08...|25006|53...|57014|57P0.|25P03|ECONN(?:REFUSED|RESET)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH)$/;
const TOOK_TOO_LONG = "57014";
/** The driver of PostgreSQL gives these no code. */
const CUT_OFF =
  /^(?:Connection terminated(?! due to connection timeout)|Client has encountered a connection error)/;
const NOT_GIVEN =
  /^(?:timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

const outages = [
  {
    codes: IN_THE_WAY,
    message: "The database is locked by another process; try again in a moment.",
    retryAfter: "1",
  },
  {
    codes: /^(?:SQLITE_FULL|53100)$/,
    message:
      "The disk of the database is full: nothing is stored until there is room, what is stored can be read.",
    retryAfter: "10",
  },
  {
    codes: /^(?:SQLITE_READONLY.*|25006)$/,
    message: "The database takes no changes at the moment; what is stored can be read.",
    retryAfter: "10",
  },
  {
    codes: /^(?:SQLITE_(?:IOERR|CANTOPEN).*|58...)$/,
    message: "The files of the database cannot be read or written; the log of the server says why.",
    retryAfter: "10",
  },
  {
    // Not an error of the request, and served again once a backup is back: for clients an outage, if a longer one.
    codes: /^(?:SQLITE_(?:CORRUPT|NOTADB).*|XX00[12])$/,
    message: "The database is damaged where this reads or writes; it needs a backup brought back.",
    retryAfter: "60",
  },
];

const codeOf = (error: unknown) => String((error as { code?: unknown } | null)?.code ?? "");

/** Whether the database refused a row because another one has the same key. */
export function isUniqueViolation(error: unknown): boolean {
  return DUPLICATE.test(codeOf(error));
}

/** Whether the database refused a row because what it belongs to is gone. */
export function isOrphan(error: unknown): boolean {
  return ORPHAN.test(codeOf(error));
}

/** Whether a transaction failed only because another one was in its way, so that it may be run again. */
export function isLocked(error: unknown): boolean {
  return IN_THE_WAY.test(codeOf(error));
}

/** Whether it is the database that fails and not what was asked of it: everything else would fail as well. */
export function failsWholeBatch(error: unknown): boolean {
  return error instanceof GabbroError || isFailing(error);
}

/** Whether nothing more can be done in the transaction in which it happened. */
export function endsTransaction(error: unknown): boolean {
  return isLocked(error) || isFailing(error);
}

function isFailing(error: unknown): boolean {
  return FAILING.test(codeOf(error)) || isOutOfReach(error);
}

/** Whether the database ended a statement because it took longer than it may. */
export function wasTimedOut(error: unknown): boolean {
  return codeOf(error) === TOOK_TOO_LONG;
}

/** Whether another server may well do what one could not, as that was lost or busy catching up. */
export function isWorthAnotherServer(error: unknown): boolean {
  return (isOutOfReach(error) && !wasTimedOut(error)) || isLocked(error);
}

/** The error for the caller when the database does not serve; undefined for any other error. */
export function unavailable(error: unknown): GabbroError | undefined {
  const outage = outages.find(({ codes }) => codes.test(codeOf(error)));
  if (!outage && !isOutOfReach(error)) return undefined;
  const { message, retryAfter } = outage ?? noAnswer(error);
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": retryAfter }, cause: error });
}

const noAnswer = (error: unknown) => ({
  message: `The database does not answer; try again in a moment.${wasUnderWay(error) ? UNCERTAIN : ""}`,
  retryAfter: "1",
});

const UNCERTAIN =
  " What it was about to store may be stored all the same: with an Idempotency-Key it can be sent again safely.";

/** Whether the connection was lost over it, so that nobody knows what became of it. */
function wasUnderWay(error: unknown): boolean {
  return /^(?:57P0.|ECONNRESET|EPIPE|ETIMEDOUT)$/.test(codeOf(error)) || CUT_OFF.test(messageOf(error));
}

const messageOf = (error: unknown) => String((error as Error | null)?.message ?? "");

function isOutOfReach(error: unknown): boolean {
  return (
    OUT_OF_REACH.test(codeOf(error)) || CUT_OFF.test(messageOf(error)) || NOT_GIVEN.test(messageOf(error))
  );
}

/** An error fit for the log: PostgreSQL tells the rows that it refuses, JavaScript the text that is no JSON; both are the users'. */
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
  if (error instanceof SyntaxError) return textIn(error.message);
  return "detail" in error ? [` - detail: ${error.detail}`] : [];
}

/** The part of `Unexpected token 'x', "the text" is not valid JSON` that repeats the text. */
function textIn(message: string): string[] {
  const start = message.search(/, (?:\.\.\.)?"/);
  const end = message.lastIndexOf(" is not valid JSON");
  return start >= 0 && end > start ? [message.slice(start, end)] : [];
}
