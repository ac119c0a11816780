import { createHash } from "node:crypto";
import { type Expression, sql } from "kysely";
import type { Context } from "../context.ts";
import { deleteOlder } from "../database/deleteOlder.ts";
import { isLocked, isUniqueViolation } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { runWithPauses } from "../database/pauses.ts";
import { inRequestTransaction, type RequestTransaction } from "../database/requestTransaction.ts";
import { retryWhile } from "../database/retry.ts";
import { GabbroError } from "../errors.ts";
import { newAnswerBudget } from "../limits/answerBudget.ts";
import { readOn } from "../limits/deadline.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { writeJson } from "../limits/jsonText.ts";
import { createPause, passTurns } from "../limits/turns.ts";
import { type AnswerCipher, cipherOf } from "./answerCipher.ts";
import { IdempotentAnswer } from "./entities.ts";
import { authenticated } from "./resolvers.ts";

const RETENTION_MS = 24 * 60 * 60 * 1_000;
/** It is made, encrypted and stored while the transaction is open: one of 10 MB kept the writes of others waiting for up to 0.4 s. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Of a longer request, 10 MB take up to 0.1 s to hash, 0.3 s to write as JSON and encrypt, and 0.2 s to store and commit. */
const MAX_CHARACTERS_IN_TURN = 1024 * 1024;

/** Of an answer as it is stored. */
const MAX_SHORT_ANSWER_BYTES = 256 * 1024;

/** Longer answers are given again one after another: 64 of 4 MB of a workspace kept others waiting for up to 0.8 s on PostgreSQL. */
const longAnswers = createFairQueue({
  ...{ places: 2, maxWaiting: 500, maxWaitMs: 10_000 },
  busy: "Too many long answers are given again at once; try again in a moment.",
});

/** A request with an `Idempotency-Key`. */
export interface IdempotentRequest {
  key: string;
  /** The caller's token, or the secret of the caller's session: it encrypts the answer. */
  secret: string;
  /** The whole request, as plain values: another one with the same key is refused. */
  request: unknown;
}

interface Running extends Pick<RequestTransaction, "throwFailure"> {
  pause(): Promise<unknown>;
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
  const text = await runWithPauses(context, workspace, writeJson(request));
  const pause = text.length > MAX_CHARACTERS_IN_TURN ? createPause() : async () => {};
  const requestHash = hashOf(text);
  await pause();
  const cipher = cipherOf(secret, key);
  const { database } = context;
  let isReplacing = false;
  const findAnswer = async () => {
    const row = await findRow(database, answerKey);
    isReplacing = row !== undefined && row.createdAt.getTime() <= Date.now() - RETENTION_MS;
    if (!row || isReplacing) return undefined;
    if (row.requestHash !== requestHash) throw keyOfAnother();
    const answer =
      row.answer === null ? await findLongAnswer(database, row, cipher) : decrypted(row.answer, cipher);
    return answer && { ...answer, isRepeated: true };
  };
  let hasDuplicate = false;
  const attempt = async () => {
    const earlier = await findAnswer();
    if (earlier) return earlier;
    let isStored = false;
    const result = await inRequestTransaction(
      { database, workspaceId: workspace, endsAtDuplicate: !hasDuplicate },
      // Each attempt reads again, so it has a budget of its own.
      ({ throwFailure, ...transaction }) => {
        const { maxBytes, hold } = context.answerBudget; // it waits for no other answer while its transaction is open
        const answerBudget = newAnswerBudget({ maxBytes, hold });
        return run({ ...context, ...transaction, answerBudget }, { throwFailure, pause });
      },
      async (transaction, result) => {
        refuseLongAnswer(result);
        await pause();
        if (isReplacing) await deleteExpired(transaction, answerKey);
        const answer = cipher.encrypt(toText(result));
        await pause();
        const row = { ...answerKey, id: newId(), requestHash, answer, createdAt: new Date() };
        await transaction.database.commit([["IdempotentAnswer", row]]);
        isStored = true;
        await pause();
      },
    );
    await pause();
    // Another gateway may have carried out the same request meanwhile; its answer counts then.
    return (isStored ? undefined : await findAnswer()) ?? { ...result, isRepeated: false };
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

const decrypted = (answer: string, cipher: AnswerCipher): Answer => toAnswer(cipher.decrypt(answer));

/** Answers of earlier versions are JSON as a whole, which is one line. */
function toAnswer(text: string): Answer {
  const end = text.indexOf("\n");
  return end === -1 ? JSON.parse(text) : { ...JSON.parse(text.slice(0, end)), body: text.slice(end + 1) };
}

/** Refuses the request with all its writes: without the stored answer a retry would not be safe. */
function refuseLongAnswer({ body }: Answer): void {
  if (Buffer.byteLength(body) <= MAX_ANSWER_BYTES) return;
  const megabytes = MAX_ANSWER_BYTES / 1024 / 1024;
  const message = `Nothing was stored: the answer to a request with an Idempotency-Key is kept for 24 hours, and this one is larger than ${megabytes} MB. Ask GraphQL for fewer fields, or send the request without the key.`;
  throw new GabbroError("QUERY_TOO_COMPLEX", message);
}

function keyOfAnother(): GabbroError {
  const message =
    "Another request was sent with this Idempotency-Key within the last 24 hours. Give each request a key of its own.";
  return new GabbroError("CONFLICT", message);
}

/** Without an answer that is long: most who send a key that is taken get none. */
async function findRow(database: Database, { workspace, tokenId, keyHash }: AnswerKey) {
  return database.read
    .selectFrom("IdempotentAnswer")
    .select(["id", "workspace", "requestHash", "createdAt"])
    .select(({ ref }) => ifShort(ref("answer")).as("answer"))
    .where("workspace", "=", workspace)
    .where("tokenId", "=", tokenId)
    .where("keyHash", "=", keyHash)
    .executeTakeFirst();
}

const ifShort = (answer: Expression<string>) =>
  sql<
    string | null
  >`case when octet_length(${answer}) <= ${sql.lit(MAX_SHORT_ANSWER_BYTES)} then ${answer} end`;

/** An answer that is long; undefined when its row has expired and is gone. */
function findLongAnswer(
  database: Database,
  { workspace, id }: { workspace: string; id: string },
  cipher: AnswerCipher,
): Promise<Answer | undefined> {
  return longAnswers.run(workspace, async () => {
    const row = await database.read
      .selectFrom("IdempotentAnswer")
      .select("answer")
      .where("workspace", "=", workspace)
      .where("id", "=", id)
      .executeTakeFirst();
    await database.turn(workspace);
    const answer = row && decrypted(row.answer, cipher);
    await passTurns();
    return answer;
  });
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
