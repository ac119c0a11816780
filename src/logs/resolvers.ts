import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { GabbroError, quoted } from "../errors.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { findDetails, findPrompt } from "../prompts/cached.resolvers.ts";
import { describeVersion, type PromptDescription } from "../prompts/resolvers.ts";
import { selectVersion } from "../prompts/selection.ts";
import { measureUsage } from "../usage/usage.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { Log, Trace } from "./entities.ts";
import type { LogPromptRecord } from "./inputs.ts";

/** What was stored, as plain rows; `loggedTrace` and `loggedLog` make entities of them. */
export type LoggedPrompt = Awaited<ReturnType<typeof logPrompt>>;

/**
 * Records what a prompt answered as one trace with one log in it, tied to the version that served. Tokens and cost that
 * were not reported are measured. Resolves after the commit; what is missing of the prompt is told in the warning.
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
    // A start that nobody reported says nothing of the latency.
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
  return { trace, log, warning: served.warning };
}

/** The trace that was just stored: a plain row, which becomes an entity when its relations are asked for. */
export function loggedTrace({ trace }: LoggedPrompt): Trace {
  return trace as unknown as Trace;
}

/** The log that was just stored, likewise. */
export function loggedLog({ log }: LoggedPrompt): Log {
  return log as unknown as Log;
}

async function findServed(context: Context, workspaceId: string, input: LogPromptRecord) {
  const prompt = await findPrompt(context, workspaceId, input.slug);
  if (!prompt) {
    const warning = `Prompt ${quoted(input.slug)} does not exist; the log was kept without a link to a prompt.`;
    return { promptId: null, version: null, tag: null, model: null, warning };
  }
  const { version, tag, warning } = selectVersion(prompt, input);
  const details = version && (await findDetails(context, version.id));
  return {
    promptId: prompt.id,
    version: version?.version ?? null,
    tag,
    model: details?.model ?? null,
    warning,
  };
}

/** The trace with that id; TRACE_NOT_FOUND when the workspace has none. */
export async function trace(context: Context, input: { id: string }): Promise<Trace> {
  authorize(context, "read");
  const reference = context.em.getReference(Trace, input.id, { wrapped: true });
  const found = await reference.load({ dataloader: true });
  if (!found || !reference.isInitialized()) {
    throw new GabbroError("TRACE_NOT_FOUND", `Trace ${quoted(input.id)} does not exist.`);
  }
  return found;
}

/** The log with that id; LOG_NOT_FOUND when the workspace has none. */
export async function log(context: Context, input: { id: string }): Promise<Log> {
  authorize(context, "read");
  const found = await findLog(context, input.id);
  if (!found) throw new GabbroError("LOG_NOT_FOUND", `Log ${quoted(input.id)} does not exist.`);
  return found;
}

/** The log with that id for whoever was authorized already; null when the workspace has none. */
export async function findLog(context: Context, id: string): Promise<Log | null> {
  const reference = context.em.getReference(Log, id, { wrapped: true });
  const found = await reference.load({ dataloader: true });
  return reference.isInitialized() ? found : null;
}

/** The logs of a trace, the oldest first. */
export async function logsOf(context: Context, parent: Trace): Promise<Log[]> {
  authenticated(context); // who may see the trace, if only because it was just made, may see what is in it
  // Made by `create` it would count as changed, and be stored again before the next read.
  const entity = "logs" in parent ? parent : context.em.merge(Trace, parent as never);
  return (await (entity as unknown as Trace).logs.load({ dataloader: true })).getItems();
}

/** The trace that a log belongs to. */
export async function traceOf(context: Context, child: Log): Promise<Trace> {
  authenticated(context);
  const entity = typeof child.trace === "string" ? context.em.merge(Log, child as never) : child;
  return (entity as unknown as Log).trace.loadOrFail({ dataloader: true });
}

/** The prompt that a log is tied to, as the version that served shows it; null when there is none or it is gone. */
export async function promptOf(context: Context, child: Log): Promise<PromptDescription | null> {
  authorize(context, "read");
  if (!child.prompt) return null;
  return describeVersion(context, {
    promptId: typeof child.prompt === "string" ? child.prompt : child.prompt.id,
    version: child.version ?? null,
    tag: child.tag ?? null,
  });
}
