import { validate as isUuid } from "uuid";
import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { createFinder } from "../database/loader.ts";
import { GabbroError, quoted } from "../errors.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import type { PromptHead } from "../prompts/cached.resolvers.ts";
import { findPromptById } from "../prompts/resolvers.ts";
import type { NamedVersion } from "../prompts/selection.ts";
import { versionNamed } from "../prompts/versions.resolvers.ts";
import { measureUsage } from "../usage/usage.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { Log, type LogRecord, type LogRow, Trace } from "./entities.ts";
import type { LogPromptRecord } from "./inputs.ts";
import { findLogRows } from "./rows.resolvers.ts";
import { findServed } from "./served.resolvers.ts";
import { traceIdOf } from "./spanIds.ts";

/** What was stored, as plain rows. */
export type LoggedPrompt = Awaited<ReturnType<typeof logPrompt>>;

/**
 * Records what a prompt answered as one trace with one log in it, tied to the version that served. Tokens and cost that
 * were not reported are measured. Resolves after the commit. A warning says when the prompt or the version is missing.
 */
export async function logPrompt(context: Context, input: LogPromptRecord) {
  const workspaceId = authorize(context, "write");
  const served = await findServed(context, workspaceId, input);
  const arrival = new Date();
  const startTime = input.startTime ?? input.endTime ?? arrival;
  const findOwnPrice = ownPriceFinder(context, workspaceId);
  const usage = await measureUsage(workspaceId, {
    ...input,
    model: served.model,
    at: startTime,
    findOwnPrice,
  });
  const [id, logId] = [newId(), newId()]; // in this order: a place in the list of traces is one in that of logs
  const trace = {
    id,
    workspace: workspaceId,
    rootId: logId,
    name: input.name ?? input.slug,
    ...{ organization: input.organization, user: input.user },
    metadata: null, // reads take it from the root: stored twice, 10 MB of it had others wait for 0.3 s
    startTime,
    endTime: input.endTime,
    createdAt: arrival,
  };
  const log = {
    id: logId,
    workspace: workspaceId,
    trace: trace.id,
    type: "generation",
    prompt: served.promptId,
    ...{ promptSlug: input.slug, version: served.version, tag: served.tag },
    provider: served.model?.provider ?? null,
    model: served.model?.model ?? null,
    userId: input.user?.id ?? null,
    organizationId: input.organization?.id ?? null,
    input: input.input,
    output: input.output,
    idealOutput: input.idealOutput,
    variables: input.variables,
    metadata: input.metadata,
    startTime,
    endTime: input.endTime,
    latencyMs: latencyOf(input),
    ...usage,
    createdAt: arrival,
    searchId: null,
  } as const;
  await context.database.commit([
    ["Trace", trace],
    ["Log", log],
  ]);
  context.database.pubSub.publish(workspaceId, { id: log.id, traceId: trace.id, promptSlug: log.promptSlug });
  const answered = { ...trace, input: input.input, output: input.output, metadata: input.metadata };
  return { trace: answered, log, warnings: served.warnings };
}

/** Null without a start that was reported: one of our own says nothing of the latency. */
const latencyOf = ({ startTime, endTime }: LogPromptRecord): number | null =>
  startTime && endTime ? endTime.getTime() - startTime.getTime() : null;

/** The trace with that id, or with that trace id of OpenTelemetry; TRACE_NOT_FOUND when the workspace has none. */
export async function getTrace(context: Context, input: { id: string }): Promise<Trace> {
  const workspaceId = authorize(context, "read");
  const trace = await findTrace(context, isUuid(input.id) ? input.id : traceIdOf(workspaceId, input.id));
  if (!trace) throw new GabbroError("TRACE_NOT_FOUND", `Trace ${quoted(input.id)} does not exist.`);
  return trace;
}

/** The trace with that id, once the caller is authorized; null when the workspace has none. */
export const findTrace: (context: Context, id: string) => Promise<Trace | null> = createFinder(
  (context, ids) => context.em.find(Trace, { id: { $in: ids } }, { filters: ofWorkspace(context) }),
);

const ofWorkspace = (context: Context) =>
  context.database.search.unestimatedFilter(authenticated(context).workspaceId);

/** The log with that id; LOG_NOT_FOUND when the workspace has none. */
export async function getLog(context: Context, input: { id: string }): Promise<Log> {
  authorize(context, "read");
  const log = await findEntity(context, input.id);
  if (!log) throw new GabbroError("LOG_NOT_FOUND", `Log ${quoted(input.id)} does not exist.`);
  return log;
}

const findEntity = createFinder((context, ids) =>
  context.em.find(Log, { id: { $in: ids } }, { filters: ofWorkspace(context) }),
);

/**
 * The log with that id, without its payload, once the caller is authorized; null when the workspace has none. Where many are
 * asked for: entities of 1,000 logs took 0.3 to 0.8 s.
 */
export async function findLog(context: Context, id: string): Promise<LogRow | null> {
  const [log] = await findLogRows(context, [id]);
  return log ?? null;
}

/** The trace that a log belongs to; TRACE_NOT_FOUND when it was removed since the log was read. */
export async function traceOf(context: Context, child: LogRecord): Promise<Trace> {
  authenticated(context);
  const { trace } = child;
  const found = await findTrace(context, typeof trace === "string" ? trace : trace.id);
  if (found) return found;
  throw new GabbroError("TRACE_NOT_FOUND", "The trace has just been removed.");
}

/** The prompt that a log is linked to; null when there is none any more. */
export async function promptOf(context: Context, child: LogRecord): Promise<PromptHead | null> {
  authorize(context, "read");
  if (!child.prompt) return null;
  return findPromptById(context, typeof child.prompt === "string" ? child.prompt : child.prompt.id);
}

/** The version of a prompt that a log is linked to; null when there is none any more. */
export async function promptVersionOf(context: Context, child: LogRecord): Promise<NamedVersion | null> {
  const prompt = await promptOf(context, child); // a prompt that was deleted may still have versions
  return prompt && child.version !== null ? versionNamed(context, `${prompt.id} ${child.version}`) : null;
}
