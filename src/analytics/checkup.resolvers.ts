import type { Context } from "../context.ts";
import { rejectedItemsSince } from "../inbox/resolvers.ts";
import { findLastStart } from "../logs/arrivals.resolvers.ts";
import type { AccessToken } from "../workspaces/entities.ts";
import { unrevokedTokens } from "../workspaces/tokens.resolvers.ts";
import { adviceFor, expiredToken, nothingArrived, noWorkingToken, unpriced } from "./advice.ts";
import { usage } from "./resolvers.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** How long ago a token may have expired for a client to be still using it. */
const RECENT_MS = 7 * DAY_MS;
const MAX_MODELS = 100;

/** Something that needs attention, and what to do about it. */
export interface Finding {
  problem: string;
  advice: string;
}

type CheckedToken = Pick<AccessToken, "name" | "scopes" | "expiresAt" | "lastUsedAt"> & {
  isExpired: boolean;
};

export type Checkup = Awaited<ReturnType<typeof checkup>>;

/** What there is to say of a workspace: its tokens, when something last arrived, and what did not; read in turns. */
export async function checkup(context: Context) {
  const { tokens, problems } = await checkTokens(context);
  const lastTraceAt = await findLastStart(context);
  const rejected = await groupRejected(context);
  const unpricedModels = await findUnpriced(context);
  const findings: Finding[] = [
    ...problems,
    ...(tokens.some(({ lastUsedAt }) => lastUsedAt) || lastTraceAt
      ? []
      : [{ problem: "Nothing has arrived yet: no client has used a token.", advice: nothingArrived }]),
    ...rejected.map((group) => ({ problem: describe(group), advice: group.advice })),
    ...unpricedModels.map(({ model, logs }) => ({
      problem: `${counted(logs, "call")} of the model ${model} within the last day ${logs === 1 ? "has" : "have"} no price.`,
      advice: unpriced,
    })),
  ];
  return { tokens, lastTraceAt, rejected, unpricedModels, findings };
}

async function checkTokens(context: Context) {
  const now = Date.now();
  const tokens: CheckedToken[] = [];
  const problems: Finding[] = [];
  for await (const piece of unrevokedTokens(context))
    for (const { name, scopes, expiresAt, lastUsedAt } of piece) {
      const isExpired = expiresAt !== null && expiresAt.getTime() <= now;
      tokens.push({ name, scopes, expiresAt, lastUsedAt, isExpired });
      if (!isExpired || expiresAt.getTime() <= now - RECENT_MS) continue;
      const problem = `The token ${JSON.stringify(name)} expired at ${expiresAt.toISOString()}.`;
      problems.push({ problem, advice: expiredToken });
    }
  const canWrite = tokens.some(({ isExpired, scopes }) => !isExpired && scopes.includes("write"));
  if (!canWrite) problems.unshift({ problem: "No valid token has the scope write.", advice: noWorkingToken });
  return { tokens, problems };
}

/** What was rejected within the last day, by reason, the most frequent first. */
async function groupRejected(context: Context) {
  const items = await rejectedItemsSince(context, new Date(Date.now() - DAY_MS));
  const groups = Map.groupBy(items, ({ endpoint, client, reason }) =>
    JSON.stringify([endpoint, client, reason]),
  );
  return [...groups.values()]
    .map((group) => {
      const { endpoint, client, code, reason, createdAt } = group[0]!; // the newest
      const count = group.reduce((sum, item) => sum + item.count, 0);
      return { endpoint, client, code, reason, count, lastAt: createdAt, advice: adviceFor(group[0]!) };
    })
    .toSorted((a, b) => b.count - a.count);
}

function describe({
  endpoint,
  client,
  reason,
  count,
}: Awaited<ReturnType<typeof groupRejected>>[number]): string {
  const sender = client === null ? "" : ` of ${client}`;
  return `${endpoint} rejected ${counted(count, "request")}${sender} within the last day: ${reason}`;
}

async function findUnpriced(context: Context): Promise<{ model: string; logs: number }[]> {
  const to = new Date();
  const from = new Date(to.getTime() - DAY_MS);
  const period = { from, to, timeZone: "UTC", slug: null, after: undefined };
  const models = await usage(context, { ...period, groupBy: "MODEL", limit: MAX_MODELS });
  return models.flatMap(({ key, unpricedLogs }) =>
    unpricedLogs > 0 && key !== null ? [{ model: key, logs: unpricedLogs }] : [],
  );
}

/** A number with its noun. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
