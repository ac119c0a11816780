import type { ReportedLog, ReportedParty, ReportedSpan, ReportedTrace } from "../reported.ts";
import { parseStructure } from "./jsonTexts.ts";
import { mappingTable, promptSources } from "./mappingTable.ts";
import { type Reading, readFirst } from "./reading.ts";
import type { Source } from "./source.ts";
import type { OtlpSpan } from "./span.ts";
import { findType } from "./spanType.ts";
import { readCost, readTokens } from "./usage.ts";
import { toContent, toNumber, toObject, toShare, toSlugs, toText, toVariables } from "./values.ts";

/** Reports a span of any instrumentation in Gabbro's terms. Takes time linear in its size. */
export function mapSpan(span: OtlpSpan): ReportedSpan {
  const reading = toReading(span);
  const log = isInternal(span) ? withoutContent(readLog(reading)) : readLog(reading);
  const trace = readTrace(reading, log);
  return { traceId: span.traceId, log, isRoot: reading.isRoot, trace, warnings: [...reading.warnings] };
}

/** What the sources of the mapping table are asked about. */
export function toReading(span: OtlpSpan): Reading {
  const isRoot = span.parentSpanId === null || span.hasRemoteParent;
  return { span, type: findType(span.attributes).type, isRoot, warnings: new Set() };
}

function readLog(reading: Reading): ReportedSpan["log"] {
  const { span, type } = reading;
  const tokens = readTokens(reading);
  return {
    externalId: span.spanId,
    parentExternalId: span.parentSpanId,
    type,
    name: readText(reading, mappingTable.name) ?? (span.name || null),
    status: readStatus(span),
    statusMessage: span.statusMessage ?? readText(reading, mappingTable.statusMessage),
    startTime: span.startTime,
    endTime: span.endTime,
    input: readFirst(reading, mappingTable.input, toContent),
    output: readFirst(reading, mappingTable.output, toContent),
    idealOutput: null,
    metadata: readFirst(reading, mappingTable.metadata, toObject),
    variables: readFirst(reading, mappingTable.variables, toVariables),
    evaluators: readFirst(reading, mappingTable.evaluators, toSlugs),
    ...readPrompt(span),
    provider: readText(reading, mappingTable.provider),
    model: readText(reading, mappingTable.model),
    ...tokens,
    cost: readCost(reading, tokens),
    timeToFirstTokenMs: readFirst(reading, mappingTable.timeToFirstTokenMs, (value, source) =>
      toMilliseconds(value, source, span.startTime),
    ),
    isInternal: false,
    attributes: toRaw(span),
    events: span.events.length === 0 ? null : span.events,
  };
}

/** What a call of a client library to Gabbro leaves: it carries whole prompts and rows of datasets. */
function withoutContent(log: ReportedSpan["log"]): ReportedSpan["log"] {
  const content = {
    input: null,
    output: null,
    metadata: null,
    variables: null,
    attributes: null,
    events: null,
  };
  return { ...log, ...content, isInternal: true };
}

function readTrace(reading: Reading, log: ReportedLog): ReportedTrace {
  const ofRoot = <T>(value: T): T | null => (reading.isRoot ? value : null);
  const ifKept = <T>(value: T): T | null => (log.isInternal ? null : value);
  return {
    name: readText(reading, mappingTable.traceName) ?? ofRoot(log.name),
    featureSlug: readText(reading, mappingTable.featureSlug),
    input: ifKept(readFirst(reading, mappingTable.traceInput, toContent)) ?? ofRoot(log.input),
    output: ifKept(readFirst(reading, mappingTable.traceOutput, toContent)) ?? ofRoot(log.output),
    idealOutput: null,
    metadata: ifKept(readFirst(reading, mappingTable.traceMetadata, toObject)) ?? ofRoot(log.metadata),
    evaluators: ofRoot(log.evaluators),
    sampleRate: readFirst(reading, mappingTable.sampleRate, toShare),
    experimentId: readText(reading, mappingTable.experimentId),
    sessionId: readText(reading, mappingTable.sessionId),
    environment: readText(reading, mappingTable.environment),
    user: readParty(reading, mappingTable.userId, mappingTable.userName),
    organization: readParty(reading, mappingTable.organizationId, mappingTable.organizationName),
  };
}

const readText = (reading: Reading, sources: readonly Source[]): string | null =>
  readFirst(reading, sources, toText);

function readParty(reading: Reading, ids: readonly Source[], names: readonly Source[]): ReportedParty | null {
  const id = readText(reading, ids);
  return id === null ? null : { id, name: readText(reading, names) };
}

function readPrompt({ attributes }: OtlpSpan): Pick<ReportedLog, "promptSlug" | "version" | "tag"> {
  for (const source of promptSources) {
    const slug = toText(attributes[source.slug]);
    if (slug === undefined) continue;
    const tag = source.tag && toText(attributes[source.tag]);
    return { promptSlug: slug, version: toText(attributes[source.version]) ?? null, tag: tag ?? null };
  }
  return { promptSlug: null, version: null, tag: null };
}

/** Basalt's SDK for JavaScript ends a failed call with the status "ok". */
function readStatus({ status, attributes }: OtlpSpan): ReportedLog["status"] {
  const isError =
    attributes["basalt.request.success"] === false || attributes["langfuse.observation.level"] === "ERROR";
  return isError ? "error" : status;
}

/** Basalt's SDKs make a span of each of their own calls, whose marks stand in the metadata or beside it. */
function isInternal({ attributes }: OtlpSpan): boolean {
  const metadata = attributes["basalt.metadata"];
  const marks = toObject(typeof metadata === "string" ? parseStructure(metadata) : metadata) ?? {};
  const isTrue = (value: unknown) => value === true || value === "true";
  if (isTrue(attributes["basalt.internal.api"]) || isTrue(marks["basalt.internal.api"])) return true;
  return "basalt.operation" in marks || [...Object.keys(attributes), ...Object.keys(marks)].some(isSdkKey);
}

const isSdkKey = (key: string): boolean => key === "basalt.sdk" || key.startsWith("basalt.sdk.");

function toMilliseconds(value: unknown, source: Source, start: Date): number | undefined {
  const unit = "unit" in source ? source.unit : undefined;
  if (unit === "time") {
    const duration = typeof value === "string" ? Date.parse(value) - start.getTime() : Number.NaN;
    return duration >= 0 ? duration : undefined;
  }
  const duration = toNumber(value);
  if (duration === undefined || duration < 0) return undefined;
  return unit === "seconds" ? duration * 1000 : duration;
}

/** What a log keeps of its span as it came. A part that is empty is left out. */
function toRaw({ attributes, resource, scope, links, traceState }: OtlpSpan): Record<string, unknown> | null {
  const hasMembers = (value: object) => Object.keys(value).length > 0;
  const scopeParts = Object.entries(scope).filter(
    ([, value]) => typeof value === "string" || (value !== null && hasMembers(value)),
  );
  const raw = {
    ...(hasMembers(attributes) && { span: attributes }),
    ...(hasMembers(resource) && { resource }),
    ...(scopeParts.length > 0 && { scope: Object.fromEntries(scopeParts) }),
    ...(links.length > 0 && { links }),
    ...(traceState && { traceState }),
  };
  return hasMembers(raw) ? raw : null;
}
