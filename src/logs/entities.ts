import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, timestamp } from "../database/columnTypes.ts";
import { Prompt } from "../prompts/entities.ts";
import { Workspace } from "../workspaces/entities.ts";
import type { ReportedEvent, TokenParts } from "./reported.ts";
import type { Rollup } from "./rollups.ts";

/** The user or the organization that a call was made for. */
export interface Party {
  id: string;
  name: string | null;
}

export interface LoggedVariable {
  label: string;
  value: string | null;
}

export const logTypes = [
  "generation",
  "span",
  "function",
  "tool",
  "retrieval",
  "event",
  "agent",
  "embedding",
  "evaluator",
  "guardrail",
  "internal",
] as const;
export const logStatuses = ["ok", "error"] as const;
/** What a client reported of a step that is no call of a model, such as the sum of the calls below it. */
export interface AggregateUsage extends TokenParts {
  cost: number | null;
}

/** An evaluation that a client asks for. */
export interface Evaluator {
  slug: string;
}

/** NONE: the log takes nothing by itself, as it is no call of a model, or one whose usage the logs below it count. */
export const costSources = ["REPORTED", "COMPUTED", "UNPRICED", "NONE"] as const;

/** Columns of any length are lazy: `payloads.resolvers.ts` reads them on request. */
export const Trace = defineEntity({
  name: "Trace",
  tableName: "traces",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    startTime: timestamp(),
    endTime: timestamp().strictNullable(),
    createdAt: timestamp(),
    /** The log at the top that the trace takes its name, input and output from; null until it is stored. */
    rootId: p.uuid().strictNullable(),
    sampleRate: p.double().$type<number>().strictNullable(),
    /** The id by which the client knows the trace. */
    externalId: p.text().strictNullable(),
    sessionId: p.text().strictNullable(),
    environment: p.text().strictNullable(),
    /** As the client names it: the experiment may be gone. */
    experimentId: p.text().strictNullable(),
    featureSlug: p.text().strictNullable(),
    name: p.text().lazy(),
    organization: json<Party>().strictNullable().lazy(),
    user: json<Party>().strictNullable().lazy(),
    metadata: json<Record<string, unknown>>().strictNullable().lazy(),
    evaluators: json<Evaluator[]>().strictNullable().lazy(),
    idealOutput: json<unknown>().strictNullable().lazy(),
    input: json<unknown>().strictNullable().lazy(),
    output: json<unknown>().strictNullable().lazy(),
  },
  indexes: [{ properties: ["workspace", "startTime", "id"] }],
});
export type Trace = InferEntity<typeof Trace>;

const coveredColumns = [
  "promptSlug",
  "version",
  "tag",
  "type",
  "model",
  "userId",
  "organizationId",
  "latencyMs",
  "inputTokens",
  "outputTokens",
  "cost",
  "costSource",
  "searchId",
  "cacheReadTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "status",
] as const;

/**
 * One step of a trace, such as a call of a model. No foreign key ties it to its prompt, and it keeps the prompt's slug and
 * version as text: a log is accepted and stays readable whatever happens to the prompt. Nor does a key tie it to its parent,
 * which may be stored later or never.
 */
export const Log = defineEntity({
  name: "Log",
  tableName: "logs",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    trace: () => p.manyToOne(Trace).ref().index(false).deleteRule("cascade"),
    type: p.enum(logTypes),
    prompt: () => p.manyToOne(Prompt).ref().strictNullable().index(false).createForeignKeyConstraint(false),
    promptSlug: p.text().strictNullable(),
    version: p.text().strictNullable(),
    tag: p.text().strictNullable(),
    provider: p.text().strictNullable(),
    model: p.text().strictNullable(),
    // The ids of the trace's parties, by which logs are filtered and grouped. Of a span those that it names itself: the root may come
    // last, and each span before it would be written again.
    userId: p.text().strictNullable(),
    organizationId: p.text().strictNullable(),
    input: json<unknown>().strictNullable().lazy(),
    output: json<unknown>().strictNullable().lazy(),
    idealOutput: json<unknown>().strictNullable().lazy(),
    variables: json<LoggedVariable[]>().strictNullable().lazy(),
    metadata: json<Record<string, unknown>>().strictNullable().lazy(),
    statusMessage: p.text().strictNullable().lazy(),
    evaluators: json<Evaluator[]>().strictNullable().lazy(),
    /** What was reported of a log whose own columns of usage are null, as logs below it count. */
    aggregateUsage: json<AggregateUsage>().strictNullable().lazy(),
    attributes: json<Record<string, unknown>>().strictNullable().lazy(),
    events: json<ReportedEvent[]>().strictNullable().lazy(),
    startTime: timestamp(),
    endTime: timestamp().strictNullable(),
    /** Null when the client does not say. */
    status: p.enum(logStatuses).strictNullable(),
    /** The provider's id of the answer of a call. */
    responseId: p.text().strictNullable(),
    /** The ids by which the client knows the log and its parent, unique within the trace. */
    externalId: p.text().strictNullable(),
    parentExternalId: p.text().strictNullable(),
    /** The id of a parent that is a span of another service, in place of the one above. */
    remoteParentId: p.text().strictNullable(),
    name: p.text().strictNullable(),
    timeToFirstTokenMs: p.double().$type<number>().strictNullable(),
    cacheReadTokens: p.integer().strictNullable(),
    cacheWriteTokens: p.integer().strictNullable(),
    reasoningTokens: p.integer().strictNullable(),
    latencyMs: p.bigint("number").strictNullable(),
    inputTokens: p.integer().strictNullable(),
    outputTokens: p.integer().strictNullable(),
    cost: p.double().$type<number>().strictNullable(),
    costSource: p.enum(costSources),
    createdAt: timestamp(),
    /** The key in the full-text index; the database assigns it. */
    searchId: p.integer().strictNullable().unique(),
  },
  indexes: [
    // Has every column that lists and sums filter by or add up, so that they read no whole logs.
    { name: "logs_by_time", properties: ["workspace", "startTime", "id", ...coveredColumns] },
    { name: "logs_by_prompt", properties: ["workspace", "promptSlug", "startTime", "id"] },
    {
      name: "logs_by_user",
      properties: ["workspace", "userId", "startTime", "id"],
      where: "user_id is not null",
    },
    {
      name: "logs_by_organization",
      properties: ["workspace", "organizationId", "startTime", "id"],
      where: "organization_id is not null",
    },
    // Begins with the parent: the database finds the children of a deleted parent by it.
    { properties: ["trace", "workspace", "id"] },
    // Has the usage, which SQLite would otherwise reach by reading the status message, of any length, before it.
    {
      name: "logs_with_aggregate_usage",
      properties: ["trace", "workspace", "id", "aggregateUsage"],
      where: "aggregate_usage is not null",
    },
  ],
});
export type Log = InferEntity<typeof Log>;

/** A trace as an entity, or as a plain row, in which what the client did not report may be absent. */
export type TraceRecord = Trace | TraceRow;
type ReportedOfTrace =
  | ("rootId" | "sampleRate" | "externalId" | "sessionId" | "environment" | "experimentId" | "featureSlug")
  | ("evaluators" | "idealOutput" | "input" | "output");
type TraceRow = Omit<Trace, "workspace" | ReportedOfTrace> & Partial<Pick<Trace, ReportedOfTrace>>;

/** The columns of a log that may have any length. */
export const logPayloadColumns = [
  ...["input", "output", "idealOutput", "variables", "metadata"],
  ...["statusMessage", "evaluators", "aggregateUsage", "attributes", "events"],
] as const;
/** Columns that are null in logs of a single call. */
export const treeColumns = [
  ...["status", "name", "externalId", "parentExternalId", "remoteParentId", "responseId"],
  ...["timeToFirstTokenMs", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"],
] as const;
/** A log as an entity, or as a plain row with the ids of its relations, perhaps without its payload. */
export type LogRecord = Log | LogRow;
type Payload = (typeof logPayloadColumns)[number];
type OfTree = (typeof treeColumns)[number];
type Relations = "workspace" | "trace" | "prompt";
type Unread = "createdAt" | "provider" | "userId" | "organizationId" | "searchId";
export type LogRow = Omit<Log, Relations | Payload | OfTree | Unread> &
  Partial<Pick<Log, Payload | OfTree>> & { trace: string; prompt: string | null; place?: PlaceInTrace };

/**
 * Where a log stands in its trace. In the row, if it was read as a part of a page: a WeakMap from rows to places costs a
 * twentieth of the time of an answer with 10,000 logs.
 */
export interface PlaceInTrace {
  parentId: string | null;
  depth: number;
  missingParent: boolean;
  /** From the start of the trace to its own. */
  offsetMs: number;
  subtree: Rollup;
}

/** A try of a feature whose traces are compared. */
export const Experiment = defineEntity({
  name: "Experiment",
  tableName: "experiments",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    featureSlug: p.text(),
    name: p.text(),
    createdAt: timestamp(),
  },
  indexes: [{ properties: ["workspace", "id"] }],
});
export type Experiment = InferEntity<typeof Experiment>;
