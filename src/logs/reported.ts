import type { TokenParts } from "../usage/tokenParts.ts";

export type { TokenParts } from "../usage/tokenParts.ts";

/** What kind of step a log records. */
export type ReportedType =
  | "generation"
  | "span"
  | "function"
  | "tool"
  | "retrieval"
  | "event"
  | "agent"
  | "embedding"
  | "evaluator"
  | "guardrail";

/** A user or an organization. */
export interface ReportedParty {
  id: string;
  name: string | null;
}

/** What a client reports of a whole trace. Every member may be null. */
export interface ReportedTrace {
  name: string | null;
  featureSlug: string | null;
  input: unknown;
  output: unknown;
  idealOutput: unknown;
  metadata: Record<string, unknown> | null;
  evaluators: { slug: string }[] | null;
  /** The share of traces that are evaluated, from 0 to 1. */
  sampleRate: number | null;
  experimentId: string | null;
  sessionId: string | null;
  environment: string | null;
  user: ReportedParty | null;
  organization: ReportedParty | null;
}

/** One step of a trace as a client reports it, whichever way it comes. */
export interface ReportedLog extends TokenParts {
  /** The client's id of the step, unique within the trace; for OpenTelemetry 16 hexadecimal digits. */
  externalId: string | null;
  /** The client's id of the step around it; null at the top. */
  parentExternalId: string | null;
  /** The id of the span of another service around it, in place of the one above. */
  remoteParentId?: string | null;
  type: ReportedType;
  name: string | null;
  status: "ok" | "error" | null;
  statusMessage: string | null;
  startTime: Date | null;
  endTime: Date | null;
  input: unknown;
  output: unknown;
  idealOutput: unknown;
  metadata: Record<string, unknown> | null;
  variables: { label: string; value: string | null }[] | null;
  evaluators: { slug: string }[] | null;
  promptSlug: string | null;
  version: string | null;
  tag: string | null;
  /** The provider and the model that answered, as the client writes them. */
  provider: string | null;
  model: string | null;
  /** In US dollars; null when the client does not know it. */
  cost: number | null;
  /** The provider's id of its answer, by which two reports of one call are known. */
  responseId?: string | null;
  timeToFirstTokenMs: number | null;
  /** A call of a client library to Gabbro itself: stored without content, hidden and never counted. */
  isInternal: boolean;
  /**
   * All that came with it, as it came; null when nothing did. Of a span of OpenTelemetry: `span` (its attributes),
   * `resource` and `scope` (who sent it), `links` and `traceState`. A part that is empty is left out. Its own `name` (with its
   * `kind`), `status` and `statusMessage` are here only if the log has others.
   */
  attributes: Record<string, unknown> | null;
  events: ReportedEvent[] | null;
}

/** Something that happened at a time within a step, such as an exception. */
export interface ReportedEvent {
  name: string;
  /** ISO 8601 in UTC. */
  time: string | null;
  attributes: Record<string, unknown>;
}

/** A span of OpenTelemetry after the mapping. Its `externalId` is never null. */
export interface ReportedSpan {
  /** The id of the trace, 32 hexadecimal digits in lower case. */
  traceId: string;
  log: ReportedLog & { externalId: string; startTime: Date };
  /** Nanoseconds of the start within its millisecond, from 0 to 999,999. */
  startNanos: number;
  /** It is the root of its trace in this service: it has no parent, or the parent is a span of another service. */
  isRoot: boolean;
  /** What the span says of its trace. */
  trace: ReportedTrace;
  /** Sentences about what the mapping had to assume. */
  warnings: string[];
}
