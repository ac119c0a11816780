/** What the specification recommends for a request, also after decompression. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;
/**
 * Spans of one request, which is refused when it has more. The work on it may take 10 s: so many spans take 2 s of a core in
 * traces of 20, and 5 s in one trace, for which the database reads what it has of the trace.
 */
export const MAX_SPANS = 10_000;
/** Messages around the spans of one request, and pauses between them. */
export const MAX_GROUPS = 100_000;
/** As much as a log by REST may have. Decoding it takes up to 20 ms of protobuf and 35 ms of JSON, which nothing interrupts. */
export const MAX_SPAN_BYTES = 10 * 1024 * 1024;
/** A resource and a scope together. Only small ones are stored with each of their spans: see `createLargeParts`. */
export const MAX_RESOURCE_BYTES = 64 * 1024;
/** Values in the attributes, events and links of a span, in all lists and objects. Decoding them takes up to 20 ms. */
export const MAX_VALUES = 50_000;
/**
 * Fields of protobuf in a span, in all its messages: an attribute takes four. A message may repeat a field any number of times,
 * and the last one counts: an event of 9 MB that repeats its time took 0.9 to 1.5 s.
 */
export const MAX_FIELDS = 6 * MAX_VALUES;
/** A larger metric counts as one data point. Counting takes up to 30 ms, which no other request can interrupt. */
export const MAX_METRIC_BYTES = 1024 * 1024;
