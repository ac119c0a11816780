import type { Context } from "../../context.ts";
import { createPauses, runWithPauses } from "../../database/pauses.ts";
import type { OtlpSpanCounts } from "../../metrics/otlpSpans.ts";
import { authorize } from "../../workspaces/resolvers.ts";
import { limitIngestion } from "../ingestionLimit.resolvers.ts";
import type { ReportedSpan } from "../reported.ts";
import { recordSpans } from "../spans.resolvers.ts";
import { countPoints, decodeLogRecords, decodeSpans, type Encoded } from "./decode.ts";
import type { Decoded, DecodedLogRecord, DecodedSpan, Rejection } from "./decoded.ts";
import { createLargeParts, type Sent } from "./largeParts.ts";
import { mapLogRecord } from "./logRecord.ts";
import { mapSpan } from "./mapping.ts";
import type { Receipt } from "./messages.ts";
import { createNotes, type Notes } from "./notes.ts";

/** Spans that are stored together, so that the mapped form of a large request never stands in memory whole. */
const MAX_GROUP_SPANS = 512;
/**
 * On SQLite, where writers wait for the transaction: traces that are stored already are read and compared one by one, which for 512
 * of them takes up to 0.8 s.
 */
const MAX_GROUP_TRACES = 100;
/**
 * Writers of SQLite wait for the words of a group to be stored: 82 to 115 ms where words differ, and 123 to 173 with groups of
 * 1 MB, which take as long in all.
 */
const MAX_GROUP_BYTES = 512 * 1024;

/** Stores the spans of a request, each that is valid, and says what became of the others. */
export async function receiveSpans(
  context: Context,
  body: Encoded,
  counts: OtlpSpanCounts,
): Promise<Receipt> {
  const notes = createNotes();
  const total = await limitIngestion(context, () =>
    receive(context, decodeSpans(body), {
      notes,
      map: mapDecodedSpan(notes),
      onStored: (spans) => counts.add("accepted", "", spans),
      onRejected: ({ code }) => counts.add("rejected", code, 1),
    }),
  );
  return { rejected: notes.rejected(), message: notes.message(total), reason: notes.reason() };
}

const KEPT_LOGS =
  "Gabbro stores no other log records: send traces to /v1/traces, with the content of messages in span attributes. OTEL_LOGS_EXPORTER=none stops this export.";

/** Stores the events of GenAI among the log records of a request below their spans. */
export async function receiveLogRecords(context: Context, body: Encoded): Promise<Receipt> {
  const notes = createNotes("log record");
  let isOther = false;
  const total = await limitIngestion(context, () =>
    receive(context, decodeLogRecords(body), {
      notes,
      map: createMapper(notes, ({ record }: DecodedLogRecord) => [record, mapLogRecord(record)]),
      onRejected: ({ code }) => {
        isOther ||= code === "log_record";
      },
    }),
  );
  const withKept = (sentence: string) => (isOther ? `${sentence} ${KEPT_LOGS}` : sentence);
  const [message, reason] = [withKept(notes.message(total)), withKept(notes.reason())];
  return { rejected: notes.rejected(), message, reason };
}

interface Receiver<Kind> {
  notes: Notes;
  map: (decoded: Kind, index: number) => ReportedSpan;
  onStored?: (count: number) => void;
  onRejected: (rejection: Rejection) => void;
}

/** Stores what is decoded, in groups; returns how much there was. */
async function receive<Kind extends Decoded>(
  context: Context,
  decoded: Generator<Kind | Rejection | null>,
  { notes, map, onStored, onRejected }: Receiver<Kind>,
): Promise<number> {
  const maxTraces = context.database.search.isServer ? MAX_GROUP_SPANS : MAX_GROUP_TRACES;
  let total = 0;
  let group = newGroup();
  const storeGroup = async () => {
    const { spans } = group;
    group = newGroup();
    const { warnings } = await recordSpans(context, spans);
    for (const warning of warnings) notes.warn(warning);
    onStored?.(spans.length);
  };
  for await (const each of decodeInTurns(context, decoded)) {
    total += 1;
    if ("reason" in each) {
      notes.reject(each);
      onRejected(each);
      continue;
    }
    const span = map(each, total - 1);
    group.spans.push(span);
    group.traces.add(span.traceId);
    group.bytes += each.bytes;
    if (isFull(group, maxTraces)) await storeGroup();
  }
  if (group.spans.length > 0) await storeGroup();
  return total;
}

const newGroup = () => ({ spans: [] as ReportedSpan[], traces: new Set<string>(), bytes: 0 });

const isFull = ({ spans, traces, bytes }: ReturnType<typeof newGroup>, maxTraces: number) =>
  spans.length >= MAX_GROUP_SPANS || traces.size >= maxTraces || bytes >= MAX_GROUP_BYTES;

/** Maps what one request has, and notes the warnings about it. */
function createMapper<Kind extends Decoded>(
  notes: Notes,
  mapOne: (decoded: Kind) => [sent: Sent, mapped: ReportedSpan],
) {
  const withoutRepeated = createLargeParts();
  return (decoded: Kind, index: number): ReportedSpan => {
    const [sent, mapped] = mapOne(decoded);
    const kept = withoutRepeated(sent, mapped);
    for (const warning of [...decoded.warnings, ...mapped.warnings, ...kept.warnings])
      notes.warn(warning, index);
    return kept.span;
  };
}

const mapDecodedSpan = (notes: Notes) =>
  createMapper(notes, ({ span }: DecodedSpan) => [span, mapSpan(span)]);

/** Gives other requests a turn between two spans where it took long. Throws TIMED_OUT. */
async function* decodeInTurns<Kind>(
  context: Context,
  decoded: Generator<Kind | Rejection | null>,
): AsyncGenerator<Kind | Rejection> {
  const pause = createPauses(context, authorize(context, "write"));
  for (const each of decoded) {
    if (each !== null) yield each;
    if (pause.isDue()) await pause.take();
  }
}

const MAX_PREVIEW_SPANS = 100;
/** The answer is written in one turn: 4 MB, which stand in it twice, took 50 ms. */
const MAX_PREVIEW_BYTES = 1024 * 1024;

/** How the spans of a request would be stored; stores nothing. Large requests are shown in part. */
export const previewSpans = (context: Context, body: Encoded) =>
  limitIngestion(context, () => preview(context, body));

async function preview(context: Context, body: Encoded) {
  const notes = createNotes();
  const map = mapDecodedSpan(notes);
  const spans: ReportedSpan[] = [];
  const rejected: Rejection[] = [];
  let total = 0;
  let bytes = 0;
  for await (const each of decodeInTurns(context, decodeSpans(body))) {
    total += 1;
    if ("reason" in each) {
      notes.reject(each);
      if (rejected.length < MAX_PREVIEW_SPANS) rejected.push(each);
      continue;
    }
    const mapped = map(each, total - 1);
    bytes += each.bytes;
    if (spans.length < MAX_PREVIEW_SPANS && bytes < MAX_PREVIEW_BYTES) spans.push(mapped);
  }
  const leftOut = total - notes.rejected() - spans.length;
  return { total, spans, leftOut, rejectedSpans: notes.rejected(), rejected, message: notes.message(total) };
}

const NO_METRICS =
  "Gabbro stores no metrics: send traces to /v1/traces. OTEL_METRICS_EXPORTER=none stops this export.";

/** Rejects all metrics of a request as a partial success: an error would make exporters complain for ever. */
export async function rejectMetrics(context: Context, body: Encoded): Promise<Receipt> {
  const workspaceId = authorize(context, "write");
  await context.database.turn(workspaceId); // the last bytes of 64 messages by gRPC may arrive in one turn
  const rejected = await runWithPauses(context, workspaceId, countPoints(body));
  const message = rejected > 0 ? NO_METRICS : "";
  return { rejected, message, reason: message };
}
