import { isSlowToWrite } from "../limits/jsonSize.ts";
import { jsonOf as jsonTextOf } from "../limits/jsonText.ts";
import { setMember } from "../limits/members.ts";
import { MAX_JSON_DEPTH } from "../validation/json.ts";
import { content, withoutCopies } from "./copiedAttributes.ts";
import { MAX_COST, MAX_INDEXED_CHARACTERS, MAX_TOKENS } from "./inputs.ts";
import type { ReportedParty, ReportedSpan, ReportedTrace, TokenParts } from "./reported.ts";
import { withoutNul } from "./withoutNul.ts";

// What the databases cannot store, or only without an index, is changed rather than refused: an exporter would drop the span.
// The attributes keep each text in full, and each number as it came.

/**
 * A span whose values every database can store. With a list for them, values that become a text and take long to write go there:
 * once their JSON is kept, call it again without.
 */
export function toStorable(span: ReportedSpan, slow?: object[]): ReportedSpan {
  const { log, trace, isRoot } = span;
  const { startTime, endTime, parentExternalId, ...rest } = log;
  const safe = storableJson(rest, slow) as typeof rest;
  const cutLog = cut(safe, ["name", "promptSlug", "version", "tag", "provider", "model", "responseId"]);
  return {
    ...span,
    trace: storableTrace({ ...trace, ...withoutOwnContent(span) }, slow),
    log: {
      ...cutLog,
      attributes: withoutCopies(safe.attributes, safe),
      ...countsOf(safe),
      cost: safe.cost !== null && safe.cost >= 0 && safe.cost <= MAX_COST ? safe.cost : null,
      ...{ startTime, endTime },
      // The parent of a root is a span of another service.
      parentExternalId: isRoot ? null : parentExternalId,
      remoteParentId: isRoot ? parentExternalId : null,
    },
  };
}

/** Reads of a trace take its content from its root, unless the client gives the trace another. */
const withoutOwnContent = ({ log, trace }: ReportedSpan) =>
  Object.fromEntries(content.filter((part) => trace[part] === log[part]).map((part) => [part, null]));

function storableTrace(trace: ReportedTrace, slow?: object[]): ReportedTrace {
  const safe = storableJson(trace, slow) as ReportedTrace;
  return {
    ...cut(safe, ["name", "featureSlug", "experimentId", "sessionId", "environment"]),
    user: storableParty(safe.user),
    organization: storableParty(safe.organization),
    sampleRate: safe.sampleRate !== null && Number.isFinite(safe.sampleRate) ? safe.sampleRate : null,
  };
}

const storableParty = (party: ReportedParty | null) => (party?.id ? cut(party, ["id", "name"]) : null);

function cut<Values extends object>(values: Values, names: (keyof Values)[]): Values {
  const shortened = { ...values };
  for (const name of names) {
    const value = values[name];
    if (typeof value === "string") shortened[name] = shortenName(value) as typeof value;
  }
  return shortened;
}

/** The beginning of a name that is too long, without half of a surrogate pair at its end. */
export function shortenName(name: string): string {
  if (name.length <= MAX_INDEXED_CHARACTERS) return name;
  const beginning = name.slice(0, MAX_INDEXED_CHARACTERS - 1);
  return `${beginning.isWellFormed() ? beginning : beginning.slice(0, -1)}…`;
}

function countsOf(parts: TokenParts): TokenParts {
  const count = (value: number | null) =>
    value !== null && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS ? value : null;
  return {
    inputTokens: count(parts.inputTokens),
    cacheReadTokens: count(parts.cacheReadTokens),
    cacheWriteTokens: count(parts.cacheWriteTokens),
    outputTokens: count(parts.outputTokens),
    reasoningTokens: count(parts.reasoningTokens),
  };
}

/** JSON without the character NUL and halves of surrogate pairs; what is nested too deep becomes its JSON text. */
function storableJson(value: unknown, slow?: object[], depth = 0): unknown {
  if (typeof value === "string") return withoutNul(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (depth > MAX_JSON_DEPTH) {
    if (!slow || !isSlowToWrite(value)) return withoutNul(jsonTextOf(value));
    slow.push(value);
    return null;
  }
  if (Array.isArray(value)) return value.map((item) => storableJson(item, slow, depth + 1));
  const safe: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = storableJson((value as Record<string, unknown>)[key], slow, depth + 1);
    if (key === "__proto__") continue; // JavaScript would not return it as a member
    setMember(safe, withoutNul(key), member);
  }
  return safe;
}
