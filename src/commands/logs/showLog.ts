import type { Context } from "../../context.ts";
import type { Log } from "../../logs/entities.ts";
import type { ExportedLog } from "../../logs/export.resolvers.ts";
import { logPayload, tracePayload } from "../../logs/payloads.resolvers.ts";
import { getLog, traceOf } from "../../logs/resolvers.ts";
import { printableText } from "../../printable.ts";
import { totalInput, totalOutput } from "../../usage/tokenParts.ts";
import { formatCost, formatCount, formatMs, formatTime, printJson, printLines } from "../printing.ts";

/** Prints one log with all its fields. */
export async function showLog(context: Context, id: string, { json }: { json?: true }): Promise<void> {
  const whole = await readWhole(context, await getLog(context, { id }));
  if (json) await printJson(whole);
  else await printLines([printableText(linesOf(whole).join("\n"))]);
}

/** A log as `export logs` writes it. */
export async function readWhole(context: Context, log: Log): Promise<ExportedLog> {
  const trace = await traceOf(context, log);
  const [input, output, idealOutput, variables, metadata, traceName, user, organization] = await Promise.all([
    logPayload(context, log, "input"),
    logPayload(context, log, "output"),
    logPayload(context, log, "idealOutput"),
    logPayload(context, log, "variables"),
    logPayload(context, log, "metadata"),
    tracePayload(context, trace, "name"),
    tracePayload(context, trace, "user"),
    tracePayload(context, trace, "organization"),
  ]);
  const { id, type, promptSlug, version, tag, model, startTime, endTime, latencyMs } = log;
  const { cost, costSource, createdAt } = log;
  const tokens = { inputTokens: totalInput(log), outputTokens: totalOutput(log) };
  return {
    ...{ id, traceId: trace.id, traceName, type, promptSlug, version, tag, model },
    ...{ input, output, idealOutput, variables, metadata, startTime, endTime, latencyMs },
    ...{ ...tokens, cost, costSource, user, organization, createdAt },
  };
}

function linesOf(log: ExportedLog): string[] {
  const { startTime, promptSlug, version, tag, model, cost, costSource } = log;
  const formatParty = (party: { id: string; name: string | null } | null) =>
    party && (party.name ? `${party.name} (${party.id})` : party.id);
  const facts: [name: string, value: string | null][] = [
    ["Log", log.id],
    ["Trace", `${log.traceId} (${log.traceName})`],
    ["Started", formatTime(startTime)],
    ["Latency", formatMs(log.latencyMs)],
    ["Prompt", [promptSlug, version, tag && `(${tag})`].filter(Boolean).join(" ")],
    ["Model", model],
    ["Tokens", `${formatCount(log.inputTokens) ?? "-"} in, ${formatCount(log.outputTokens) ?? "-"} out`],
    ["Cost", cost === null ? "unknown" : `${formatCost(cost)} (${costSource.toLowerCase()})`],
    ["User", formatParty(log.user)],
    ["Organization", formatParty(log.organization)],
  ];
  const parts: [name: string, value: unknown][] = [
    ["Input", log.input],
    ["Output", log.output],
    ["Ideal output", log.idealOutput],
    ["Variables", log.variables],
    ["Metadata", log.metadata],
  ];
  return [
    ...facts.flatMap(([name, value]) => (value ? [`${name.padEnd(14)}${value}`] : [])),
    ...parts.flatMap(([name, value]) => (value === null ? [] : ["", `${name}:`, formatValue(value)])),
  ];
}

/** Texts as they are, everything else as JSON. */
function formatValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
