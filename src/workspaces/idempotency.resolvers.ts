import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../context.ts";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import { isUniqueViolation } from "../database/driverErrors.ts";
import { retryWhileLocked } from "../database/groupCommit.ts";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { inRequestTransaction, type RequestTransaction } from "../database/requestTransaction.ts";
import { GabbroError } from "../errors.ts";
import { newAnswerBudget } from "../limits/answerBudget.ts";
import { readOn } from "../limits/deadline.ts";
import { IdempotentAnswer } from "./entities.ts";
import { authenticated, bearerToken } from "./resolvers.ts";

const RETENTION_MS = 24 * 60 * 60 * 1_000;
/** An answer that is kept may be longer than its request by as much: it is encrypted while nobody else is served. */
const MAX_ADDED_BYTES = 1024 * 1024;

/** A request that may be sent again with the same key. */
export interface Repeatable {
  key: string;
  /** The header that the caller was known by; its token keeps the answer secret. */
  authorization: string | undefined;
  /** All that was asked. */
  request: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The key of a request; undefined when it has none, BAD_REQUEST when it is none. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined || (typeof header === "string" && /^[\x21-\x7e]{1,255}$/.test(header)))
    return header;
  const message = "The header Idempotency-Key must have 1 to 255 visible ASCII characters, without spaces.";
  throw new GabbroError("BAD_REQUEST", message);
}

type Place = { workspace: string; tokenId: string; keyHash: string };

/**
 * Answers a request once: its answer is stored with what it wrote, in one transaction, and whoever sends the key again
 * within 24 hours gets that answer. Who comes while it is under way waits for it. A request that wrote nothing leaves no
 * trace. CONFLICT when another request had the key. It may be tried again: `throwFailure` throws when it will be, for who
 * tells of errors before `run` ends.
 */
export async function runOnce(
  context: Context,
  { key, authorization, request }: Repeatable,
  run: (context: Context, throwFailure: () => void) => Promise<Answer>,
): Promise<Answer & { isRepeated: boolean }> {
  const { workspaceId: workspace, tokenId } = authenticated(context);
  readOn(context);
  const place = { workspace, tokenId: tokenId!, keyHash: hashOf(key) };
  const requestHash = hashOf(request);
  await nextTurn(); // here and below: 10 MB are hashed, run, encrypted and stored in turns of some 50 ms
  const seal = sealOf(bearerToken(authorization)!, key);
  const { database } = context;
  let isReplacing = false;
  const findAnswer = async () => {
    const kept = await find(database, place);
    isReplacing = kept !== undefined && kept.createdAt.getTime() <= Date.now() - RETENTION_MS;
    if (!kept || isReplacing) return undefined;
    if (kept.requestHash !== requestHash) throw keyOfAnother();
    return { ...(JSON.parse(seal.open(kept.answer)) as Answer), isRepeated: true };
  };
  const answer = async () => {
    const known = await findAnswer();
    if (known) return known;
    try {
      const made = await inRequestTransaction(
        database,
        workspace,
        // What begins again reads again.
        ({ throwFailure, ...ways }) =>
          run({ ...context, ...ways, answerBudget: newAnswerBudget(context.answerBudget) }, throwFailure),
        async (ways, result) => {
          refuseLong(result, request);
          await nextTurn();
          if (isReplacing) await forget(ways, place);
          const answer = seal.close(JSON.stringify(result));
          await nextTurn();
          await keep(ways, { ...place, requestHash, answer });
        },
      );
      return { ...made, isRepeated: false };
    } catch (error) {
      const meanwhile = error instanceof AnsweredMeanwhile && (await findAnswer());
      if (meanwhile) return meanwhile;
      throw error;
    }
  };
  return inTurn(database, Object.values(place).join(), answer);
}

/** What was written is not stored then: without its answer the request could not be repeated. */
function refuseLong({ body }: Answer, request: string): void {
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

async function find(database: Database, { workspace, tokenId, keyHash }: Place) {
  return database.read
    .selectFrom("IdempotentAnswer")
    .select(["id", "requestHash", "answer", "createdAt"])
    .where("workspace", "=", workspace)
    .where("tokenId", "=", tokenId)
    .where("keyHash", "=", keyHash)
    .executeTakeFirst();
}

class AnsweredMeanwhile extends Error {}

async function forget({ em }: RequestTransaction, place: Place): Promise<void> {
  const old = { $lte: new Date(Date.now() - RETENTION_MS) };
  await em.nativeDelete(IdempotentAnswer, { ...place, createdAt: old });
}

async function keep(
  { database }: RequestTransaction,
  row: Place & { requestHash: string; answer: string },
): Promise<void> {
  try {
    await database.commit([["IdempotentAnswer", { ...row, id: newId(), createdAt: new Date() }]]);
  } catch (error) {
    if (isUniqueViolation(error)) throw new AnsweredMeanwhile("", { cause: error });
    throw error;
  }
}

const underWay = new WeakMap<Database["orm"], Map<string, Promise<unknown>>>();

/** Has those with the same key go one after another, so that they do not all do the same work to be refused. */
async function inTurn<Result>({ orm }: Database, place: string, run: () => Promise<Result>): Promise<Result> {
  const running = underWay.get(orm) ?? new Map<string, Promise<unknown>>();
  underWay.set(orm, running);
  while (running.has(place)) await Promise.allSettled([running.get(place)]);
  const result = run();
  running.set(place, result);
  try {
    return await result;
  } finally {
    running.delete(place);
  }
}

/** Removes the answers that are too old to be asked for again, in small steps, until `signal` says to stop. */
export async function deleteOldResponses({ read, write }: Database, signal: AbortSignal): Promise<void> {
  const old = read
    .selectFrom("IdempotentAnswer")
    .select("id")
    .where("createdAt", "<=", new Date(Date.now() - RETENTION_MS))
    .orderBy("createdAt");
  await deleteInBatches(
    {
      find: (most) => old.limit(most).execute(),
      remove: (ids) =>
        retryWhileLocked(() => write.deleteFrom("IdempotentAnswer").where("id", "in", ids).execute()),
    },
    signal,
  );
}

const hashOf = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Only who knows the token can read what is kept: it may be the only place where a new token stands. */
function sealOf(token: string, key: string) {
  const secret = new Uint8Array(hkdfSync("sha256", token, key, "gabbro idempotent answer", 32));
  return {
    close: (text: string): string => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, secret, iv);
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64");
    },
    open: (text: string): string => {
      const bytes = Buffer.from(text, "base64");
      const decipher = createDecipheriv(CIPHER, secret, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const opened = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      return Buffer.concat([opened, decipher.final()]).toString("utf8");
    },
  };
}
