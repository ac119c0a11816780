import { countMembers } from "../../limits/jsonSize.ts";
import { objectOf, setMember } from "../../limits/members.ts";
import { MAX_METADATA_MEMBERS } from "../inputs.ts";
import type { ReportedLog, ReportedParty, ReportedSpan, ReportedTrace } from "../reported.ts";
import { shortenName } from "../storable.ts";
import { createJsonTexts } from "./jsonTexts.ts";
import { mappingTable } from "./mappingTable.ts";
import { readPrompt } from "./prompt.ts";
import { findAll, type Reading, readField } from "./reading.ts";
import type { Field } from "./source.ts";
import type { OtlpSpan } from "./span.ts";
import { findType } from "./spanType.ts";
import { readCost, readTokens } from "./usage.ts";
import { toObject } from "./values.ts";

/** The digits of a time in nanoseconds that are less than a millisecond. */
const NANOS_DIGITS = 6;

/** Reports a span of any instrumentation in Gabbro's terms. Takes time linear in its size. */
export function mapSpan(span: OtlpSpan): ReportedSpan {
  const reading = toReading(span);
  const log = isInternal(reading) ? withoutContent(readLog(reading)) : readLog(reading);
  const trace = readTrace(reading, log);
  const startNanos = Number(span.startNanos.slice(-NANOS_DIGITS));
  return {
    traceId: span.traceId,
    log,
    startNanos,
    isRoot: reading.isRoot,
    trace,
    warnings: [...reading.warnings],
  };
}

/** What the sources of the mapping table are asked about. */
export function toReading(span: OtlpSpan): Reading {
  const isRoot = span.parentSpanId === null || span.hasRemoteParent;
  const keys = Object.keys(span.attributes);
  const { type } = findType(span.attributes);
  const warnings = new Set<string>();
  return { span, keys, texts: createJsonTexts(warnings), type, isRoot, warnings };
}

function readLog(reading: Reading): ReportedSpan["log"] {
  const { span, type } = reading;
  const tokens = readTokens(reading);
  const name = shortenName(readField(reading, mappingTable.name) ?? span.name) || null;
  const status = readStatus(span);
  const statusMessage = span.statusMessage ?? readField(reading, mappingTable.statusMessage);
  return {
    externalId: span.spanId,
    parentExternalId: span.parentSpanId,
    type,
    ...{ name, status, statusMessage },
    startTime: span.startTime,
    endTime: span.endTime,
    input: readField(reading, mappingTable.input),
    output: readField(reading, mappingTable.output),
    idealOutput: null,
    metadata: readMetadata(reading),
    variables: readField(reading, mappingTable.variables),
    evaluators: readField(reading, mappingTable.evaluators),
    ...readPrompt(span.attributes),
    provider: readField(reading, mappingTable.provider),
    model: readField(reading, mappingTable.model),
    ...tokens,
    cost: readCost(reading, tokens),
    responseId: readResponseId(span),
    timeToFirstTokenMs: readField(reading, mappingTable.timeToFirstTokenMs),
    isInternal: false,
    attributes: toRaw(span, { name, status, statusMessage }),
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
    name: readField(reading, mappingTable.traceName) ?? ofRoot(log.name),
    featureSlug: readField(reading, mappingTable.featureSlug),
    input: ifKept(readField(reading, mappingTable.traceInput)) ?? ofRoot(log.input),
    output: ifKept(readField(reading, mappingTable.traceOutput)) ?? ofRoot(log.output),
    idealOutput: null,
    metadata:
      ifKept(bounded(reading, readField(reading, mappingTable.traceMetadata))) ?? ofRoot(log.metadata),
    evaluators: ofRoot(log.evaluators),
    sampleRate: readField(reading, mappingTable.sampleRate),
    experimentId: readField(reading, mappingTable.experimentId),
    sessionId: readField(reading, mappingTable.sessionId),
    environment: readField(reading, mappingTable.environment),
    user: readParty(reading, mappingTable.userId, mappingTable.userName),
    organization: readParty(reading, mappingTable.organizationId, mappingTable.organizationName),
  };
}

/** The members of all sources; the first source that has a member wins. */
function readMetadata(reading: Reading): Record<string, unknown> | null {
  const found = findAll(reading, mappingTable.metadata);
  return found.length === 0
    ? null
    : bounded(reading, objectOf(found.toReversed().flatMap(({ value }) => Object.entries(value))));
}

const LEFT_OUT = `The metadata has more than ${MAX_METADATA_MEMBERS.toLocaleString("en")} members at all depths. Gabbro keeps those that are too many only in the attributes.`;

/** Metadata with the members that fit: an exporter would drop a span that is refused. */
function bounded<Metadata extends Record<string, unknown> | null>(
  { warnings }: Reading,
  metadata: Metadata,
): Metadata | Record<string, unknown> {
  if (metadata === null || countMembers(metadata, MAX_METADATA_MEMBERS) <= MAX_METADATA_MEMBERS)
    return metadata;
  warnings.add(LEFT_OUT);
  const kept: Record<string, unknown> = {};
  let left = MAX_METADATA_MEMBERS;
  for (const [name, value] of Object.entries(metadata)) {
    const members = 1 + countMembers(value, left);
    if (members > left) continue;
    setMember(kept, name, value);
    left -= members;
  }
  return kept;
}

function readParty(reading: Reading, ids: Field<string>, names: Field<string>): ReportedParty | null {
  const id = readField(reading, ids);
  return id === null ? null : { id, name: readField(reading, names) };
}

/** Basalt's SDK for JavaScript ends a failed call with the status "ok". */
function readStatus({ status, attributes }: OtlpSpan): ReportedLog["status"] {
  const isError =
    attributes["basalt.request.success"] === false || attributes["langfuse.observation.level"] === "ERROR";
  return isError ? "error" : status;
}

/** Basalt's SDKs make a span of each of their own calls, whose marks stand in the metadata or beside it. */
function isInternal({ span: { attributes }, keys, texts }: Reading): boolean {
  const metadata = attributes["basalt.metadata"];
  const marks = toObject(typeof metadata === "string" ? texts.parseStructure(metadata) : metadata) ?? {};
  const isTrue = (value: unknown) => value === true || value === "true";
  if (isTrue(attributes["basalt.internal.api"]) || isTrue(marks["basalt.internal.api"])) return true;
  return "basalt.operation" in marks || keys.some(isSdkKey) || Object.keys(marks).some(isSdkKey);
}

const isSdkKey = (key: string): boolean => key === "basalt.sdk" || key.startsWith("basalt.sdk.");

/** What a log keeps of its span as it came. A part that is empty, or that the log itself has, is left out. */
function toRaw(
  { name, kind, status, statusMessage, attributes, resource, scope, links, traceState }: OtlpSpan,
  mapped: Pick<ReportedLog, "name" | "status" | "statusMessage">,
): Record<string, unknown> | null {
  const hasMembers = (value: object) => Object.keys(value).length > 0;
  const scopeParts = Object.entries(scope).filter(
    ([, value]) => typeof value === "string" || (value !== null && hasMembers(value)),
  );
  const raw = {
    ...(name !== (mapped.name ?? "") && { name, kind }),
    ...(status !== mapped.status && { status }),
    ...(statusMessage !== mapped.statusMessage && { statusMessage }),
    ...(hasMembers(attributes) && { span: attributes }),
    ...(hasMembers(resource) && { resource }),
    ...(scopeParts.length > 0 && { scope: Object.fromEntries(scopeParts) }),
    ...(links.length > 0 && { links }),
    ...(traceState && { traceState }),
  };
  return hasMembers(raw) ? raw : null;
}

function readResponseId({ attributes }: OtlpSpan): string | null {
  const id = attributes["gen_ai.response.id"];
  return typeof id === "string" && id !== "" ? id : null;
}
