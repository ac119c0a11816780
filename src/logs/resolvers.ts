import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import type { Page } from "../database/pages.ts";
import { GabbroError, quoted } from "../errors.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { findDetails, findPrompt, type PromptHead } from "../prompts/cached.resolvers.ts";
import { findPromptById } from "../prompts/resolvers.ts";
import { type NamedVersion, selectVersion } from "../prompts/selection.ts";
import { versionNamed } from "../prompts/versions.resolvers.ts";
import { measureUsage } from "../usage/usage.ts";
import type { Warning } from "../warnings.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { Log, type LogRecord, Trace, type TraceRecord } from "./entities.ts";
import type { LogPromptRecord } from "./inputs.ts";

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
  const trace = {
    id: newId(),
    workspace: workspaceId,
    name: input.name ?? input.slug,
    organization: input.organization,
    user: input.user,
    metadata: input.metadata,
    startTime,
    endTime: input.endTime,
    createdAt: arrival,
  };
  const log = {
    id: newId(),
    workspace: workspaceId,
    trace: trace.id,
    type: "generation",
    prompt: served.promptId,
    promptSlug: input.slug,
    version: served.version,
    tag: served.tag,
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
    // A start of our own says nothing of the latency.
    latencyMs: input.startTime && input.endTime ? input.endTime.getTime() - input.startTime.getTime() : null,
    ...usage,
    createdAt: arrival,
    searchId: null,
  } as const;
  await context.database.commit([
    ["Trace", trace],
    ["Log", log],
  ]);
  context.database.pubSub.publish(workspaceId, { id: log.id, promptSlug: log.promptSlug });
  return { trace, log, warnings: served.warnings };
}

async function findServed(context: Context, workspaceId: string, input: LogPromptRecord) {
  const prompt = await findPrompt(context, workspaceId, input.slug);
  if (!prompt) {
    const message = `Prompt ${quoted(input.slug)} does not exist; the log was kept without a link to a prompt.`;
    const warnings: Warning[] = [{ code: "PROMPT_NOT_FOUND", message, path: "slug" }];
    return { promptId: null, version: null, tag: null, model: null, warnings };
  }
  const { version, tag, warnings } = selectVersion(prompt, input);
  const details = version && (await findDetails(context, version.id));
  return {
    promptId: prompt.id,
    version: version?.version ?? null,
    tag,
    model: details?.model ?? null,
    warnings,
  };
}

/** The trace with that id; TRACE_NOT_FOUND when the workspace has none. */
export async function getTrace(context: Context, input: { id: string }): Promise<Trace> {
  authorize(context, "read");
  const trace = await findTrace(context, input.id);
  if (!trace) throw new GabbroError("TRACE_NOT_FOUND", `Trace ${quoted(input.id)} does not exist.`);
  return trace;
}

/** The trace with that id, once the caller is authorized; null when the workspace has none. */
export async function findTrace(context: Context, id: string): Promise<Trace | null> {
  const reference = context.em.getReference(Trace, id, { wrapped: true });
  const trace = await reference.load({ dataloader: true });
  return reference.isInitialized() ? trace : null;
}

/** The log with that id; LOG_NOT_FOUND when the workspace has none. */
export async function getLog(context: Context, input: { id: string }): Promise<Log> {
  authorize(context, "read");
  const log = await findLog(context, input.id);
  if (!log) throw new GabbroError("LOG_NOT_FOUND", `Log ${quoted(input.id)} does not exist.`);
  return log;
}

/** The log with that id, once the caller is authorized; null when the workspace has none. */
export async function findLog(context: Context, id: string): Promise<Log | null> {
  const reference = context.em.getReference(Log, id, { wrapped: true });
  const log = await reference.load({ dataloader: true });
  return reference.isInitialized() ? log : null;
}

/** A page of the logs of a trace, the oldest first. */
export async function logsOf(context: Context, parent: TraceRecord, { after, limit }: Page): Promise<Log[]> {
  authenticated(context); // no scope: a writer may see the logs of the trace that its mutation added
  // `merge`, as the unit of work would insert a `create`d entity before the next read.
  const entity = "logs" in parent ? parent : context.em.merge(Trace, parent);
  const logs = (await entity.logs.load({ dataloader: true })).getItems();
  return logs.filter(({ id }) => after === undefined || id > after).slice(0, limit);
}

/** The trace that a log belongs to. */
export async function traceOf(context: Context, child: LogRecord): Promise<Trace> {
  authenticated(context);
  const reference = typeof child.trace === "string" ? context.em.merge(Log, child).trace : child.trace;
  return reference.loadOrFail({ dataloader: true });
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
