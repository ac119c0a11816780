import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import type { Context } from "../context.ts";
import { deleteOlder } from "../database/deleteOlder.ts";
import { isLocked, isUniqueViolation } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { inRequestTransaction, type RequestTransaction } from "../database/requestTransaction.ts";
import { retryWhile } from "../database/retry.ts";
import { GabbroError } from "../errors.ts";
import { newAnswerBudget } from "../limits/answerBudget.ts";
import { readOn } from "../limits/deadline.ts";
import { createPause } from "../limits/turns.ts";
import { IdempotentAnswer } from "./entities.ts";
import { authenticated } from "./resolvers.ts";

const RETENTION_MS = 24 * 60 * 60 * 1_000;
/** How much longer than its request a stored answer may be: encrypting it blocks other requests. */
const MAX_ADDED_BYTES = 1024 * 1024;

/** Of a longer request, 10 MB take up to 0.1 s to hash, 0.3 s to write as JSON and encrypt, and 0.2 s to store and commit. */
const MAX_CHARACTERS_IN_TURN = 1024 * 1024;

/** A request with an `Idempotency-Key`. */
export interface IdempotentRequest {
  key: string;
  /** The caller's token, or the secret of the caller's session: it encrypts the answer. */
  secret: string;
  /** The whole request as text: another one with the same key is refused. */
  request: string;
}

interface Running extends Pick<RequestTransaction, "throwFailure"> {
  pause(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The key of a request; undefined when it has none, BAD_REQUEST when it is invalid. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined || (typeof header === "string" && /^[\x21-\x7e]{1,255}$/.test(header)))
    return header;
  const message = "The header Idempotency-Key must have 1 to 255 visible ASCII characters, without spaces.";
  throw new GabbroError("BAD_REQUEST", message);
}

type AnswerKey = { workspace: string; tokenId: string; keyHash: string };

/**
 * Makes retries of a request safe: stores its answer in one transaction with its writes, and returns it to requests with
 * the same key for 24 hours. A retry waits while the request is running. Without writes nothing is stored. CONFLICT when
 * another request had the key. `run` may be called again; if it turns errors into results, it calls `throwFailure`, which
 * throws the error that ended the transaction. It calls `pause` between pieces of long work.
 */
export async function runOnce(
  context: Context,
  { key, secret, request }: IdempotentRequest,
  run: (context: Context, running: Running) => Promise<Answer>,
): Promise<Answer & { isRepeated: boolean }> {
  const { workspaceId: workspace, tokenId } = authenticated(context);
  readOn(context);
  const answerKey = { workspace, tokenId: tokenId!, keyHash: hashOf(key) };
  const pause = request.length > MAX_CHARACTERS_IN_TURN ? createPause() : async () => {};
  const requestHash = hashOf(request);
  await pause();
  const cipher = cipherOf(secret, key);
  const { database } = context;
  let isReplacing = false;
  const findAnswer = async () => {
    const row = await findRow(database, answerKey);
    isReplacing = row !== undefined && row.createdAt.getTime() <= Date.now() - RETENTION_MS;
    if (!row || isReplacing) return undefined;
    if (row.requestHash !== requestHash) throw keyOfAnother();
    const text = cipher.decrypt(row.answer);
    await pause();
    const answer = toAnswer(text);
    await pause();
    return { ...answer, isRepeated: true };
  };
  let hasDuplicate = false;
  const attempt = async () => {
    const earlier = await findAnswer();
    if (earlier) return earlier;
    const result = await inRequestTransaction(
      { database, workspaceId: workspace, endsAtDuplicate: !hasDuplicate },
      // Each attempt reads again, so it has a budget of its own.
      ({ throwFailure, ...transaction }) => {
        const answerBudget = newAnswerBudget(context.answerBudget);
        return run({ ...context, ...transaction, answerBudget }, { throwFailure, pause });
      },
      async (transaction, result) => {
        refuseLongAnswer(result, request);
        await pause();
        if (isReplacing) await deleteExpired(transaction, answerKey);
        const answer = cipher.encrypt(toText(result));
        await pause();
        const row = { ...answerKey, id: newId(), requestHash, answer, createdAt: new Date() };
        await transaction.database.commit([["IdempotentAnswer", row]]);
        await pause();
      },
    );
    await pause();
    return { ...result, isRepeated: false };
  };
  // A second attempt finds the row of another transaction, however late it is: a duplicate is no outage.
  const attemptTwice = async () => {
    try {
      return await attempt();
    } catch (error) {
      if (hasDuplicate || !isUniqueViolation(error)) throw error;
      hasDuplicate = true;
      return attempt();
    }
  };
  return inTurn(database, answerKey, () => retryWhile(isConflict, attemptTwice));
}

const isConflict = (error: unknown) => isUniqueViolation(error) || isLocked(error);

/** The body as it is, behind a line with the rest: as JSON within JSON, escapes make it twice as long. */
const toText = ({ body, ...rest }: Answer) => `${JSON.stringify(rest)}\n${body}`;

/** Answers of earlier versions are JSON as a whole, which is one line. */
function toAnswer(text: string): Answer {
  const end = text.indexOf("\n");
  return end === -1 ? JSON.parse(text) : { ...JSON.parse(text.slice(0, end)), body: text.slice(end + 1) };
}

/** Refuses the request with all its writes: without the stored answer a retry would not be safe. */
function refuseLongAnswer({ body }: Answer, request: string): void {
  if (Buffer.byteLength(body) <= Buffer.byteLength(request) + MAX_ADDED_BYTES) return;
  const megabytes = MAX_ADDED_BYTES / 1024 / 1024;
  const message = `Nothing was stored: the answer to a request with an Idempotency-Key is kept for 24 hours, and this one is more than ${megabytes} MB longer than its request. Ask for fewer fields.`;
  throw new GabbroError("QUERY_TOO_COMPLEX", message);
}

function keyOfAnother(): GabbroError {
  const message =
    "Another request was sent with this Idempotency-Key within the last 24 hours. Give each request a key of its own.";
  return new GabbroError("CONFLICT", message);
}

async function findRow(database: Database, { workspace, tokenId, keyHash }: AnswerKey) {
  return database.read
    .selectFrom("IdempotentAnswer")
    .select(["id", "requestHash", "answer", "createdAt"])
    .where("workspace", "=", workspace)
    .where("tokenId", "=", tokenId)
    .where("keyHash", "=", keyHash)
    .executeTakeFirst();
}

async function deleteExpired({ em }: RequestTransaction, answerKey: AnswerKey): Promise<void> {
  const old = { $lte: new Date(Date.now() - RETENTION_MS) };
  await em.nativeDelete(IdempotentAnswer, { ...answerKey, createdAt: old });
}

const runningRequests = new WeakMap<Database["orm"], Map<string, Promise<unknown>>>();

/** Runs requests with the same key one after another, each in a turn of its own: only the first one does the work. */
async function inTurn<Result>(
  { orm, turn }: Database,
  { workspace, ...key }: AnswerKey,
  run: () => Promise<Result>,
): Promise<Result> {
  const running = runningRequests.get(orm) ?? new Map<string, Promise<unknown>>();
  runningRequests.set(orm, running);
  const answerKey = [workspace, ...Object.values(key)].join();
  const previous = running.get(answerKey);
  const afterPrevious = async () => {
    await Promise.allSettled([previous]);
    await turn(workspace);
    return run();
  };
  const result = previous ? afterPrevious() : run();
  running.set(answerKey, result);
  try {
    return await result;
  } finally {
    if (running.get(answerKey) === result) running.delete(answerKey);
  }
}

/** Deletes expired answers in small steps, until `signal` aborts. */
export const deleteOldResponses = (database: Database, signal: AbortSignal): Promise<void> =>
  deleteOlder(database, { table: "IdempotentAnswer", maxAgeMs: RETENTION_MS }, signal);

const hashOf = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts answers with the caller's token: an answer may hold a new token, which is stored nowhere else. */
function cipherOf(token: string, key: string) {
  const secret = new Uint8Array(hkdfSync("sha256", token, key, "gabbro idempotent answer", 32));
  return {
    encrypt: (text: string): string => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, secret, iv);
      const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString("base64");
    },
    decrypt: (text: string): string => {
      const bytes = Buffer.from(text, "base64");
      const decipher = createDecipheriv(CIPHER, secret, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const beginning = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      return Buffer.concat([beginning, decipher.final()]).toString("utf8");
    },
  };
}
