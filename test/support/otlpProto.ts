import protobuf from "protobufjs";

protobuf.util.recursionLimit = 1_000; // to nest deeper than the server allows

/** The messages of opentelemetry-proto 1.11 that traces, logs and metrics consist of, as far as the tests send them. */
const { root } = protobuf.parse(`
syntax = "proto3";
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
  string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
  repeated Event events = 11; uint32 dropped_events_count = 12;
  repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; fixed32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message TraceRequest { repeated ResourceSpans resource_spans = 1; }

message LogRecord {
  fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11; int32 severity_number = 2; string severity_text = 3;
  AnyValue body = 5; repeated KeyValue attributes = 6; fixed32 flags = 8; bytes trace_id = 9; bytes span_id = 10; string event_name = 12;
}
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message LogsRequest { repeated ResourceLogs resource_logs = 1; }

message Point { fixed64 time_unix_nano = 3; double as_double = 4; }
message Points { repeated Point data_points = 1; }
message Metric { string name = 1; Points gauge = 5; Points sum = 7; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }

message PartialSuccess { int64 rejected = 1; string error_message = 2; }
message ExportResponse { PartialSuccess partial_success = 1; }
message Any { string type_url = 1; bytes value = 2; }
message RpcStatus { int32 code = 1; string message = 2; repeated Any details = 3; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message RetryInfo { Duration retry_delay = 1; }
`);

type MessageName =
  | "Span"
  | "TraceRequest"
  | "LogsRequest"
  | "MetricsRequest"
  | "ExportResponse"
  | "RpcStatus"
  | "RetryInfo";

/** Encodes by protobufjs, which shares nothing with the server. 64-bit numbers may be decimal texts. */
export function encode(name: MessageName, message: object): Buffer {
  const type = root.lookupType(name);
  return Buffer.from(type.encode(type.fromObject(message)).finish());
}

/** Decodes what the server answers; fields that are not there stay absent. */
// biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
export function decode(name: MessageName, bytes: Uint8Array): any {
  const type = root.lookupType(name);
  return type.toObject(type.decode(bytes), { longs: Number });
}

const nested = (field: number, bytes: Uint8Array) =>
  protobuf.Writer.create()
    .uint32((field << 3) | 2)
    .bytes(bytes)
    .finish();

/** Fields that a message may repeat, by the numbers of the fields around it, and the bytes of one. */
export const repeatable = {
  "the name of a span": { path: [], bytes: [0x2a, 0] },
  "the time of an event": { path: [11], bytes: [0x09, ...Array(8).fill(0x41)] },
  "the trace id of a link": { path: [13], bytes: [0x0a, 0] },
  "the number of an attribute": { path: [9, 2], bytes: [0x18, ...Array(9).fill(0x81), 1] },
} satisfies Record<string, { path: number[]; bytes: number[] }>;

/** A request of spans, each with a field that is repeated so many times. */
export function encodeRepeated(spans: object[], field: keyof typeof repeatable, times: number): Buffer {
  const { path, bytes } = repeatable[field];
  const fields: Uint8Array = Buffer.alloc(times * bytes.length, Buffer.from(bytes));
  const repeated = path.reduceRight((inner, number) => nested(number, inner), fields);
  const ofSpans = spans.map((span) => nested(2, Buffer.concat([encode("Span", span), repeated])));
  return Buffer.from(nested(1, nested(2, Buffer.concat(ofSpans))));
}
