import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, timestamp } from "../database/columnTypes.ts";
import { Prompt } from "../prompts/entities.ts";
import { Workspace } from "../workspaces/entities.ts";

/** The user or the organization that a call was made for. */
export interface Party {
  id: string;
  name: string | null;
}

export interface LoggedVariable {
  label: string;
  value: string | null;
}

export const logTypes = ["generation"] as const;
export const costSources = ["REPORTED", "COMPUTED", "UNPRICED"] as const;

/** Columns of any length are lazy: `payloads.resolvers.ts` reads them on request. */
export const Trace = defineEntity({
  name: "Trace",
  tableName: "traces",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    name: p.text().lazy(),
    organization: json<Party>().strictNullable().lazy(),
    user: json<Party>().strictNullable().lazy(),
    metadata: json<Record<string, unknown>>().strictNullable().lazy(),
    startTime: timestamp(),
    endTime: timestamp().strictNullable(),
    createdAt: timestamp(),
    logs: () => p.oneToMany(Log).mappedBy("trace").orderBy({ id: "asc" }),
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
] as const;

/**
 * One call of a model. No foreign key ties it to its prompt, and it keeps the prompt's slug and version as text: a log
 * is accepted and stays readable whatever happens to the prompt.
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
    promptSlug: p.text(),
    version: p.text().strictNullable(),
    tag: p.text().strictNullable(),
    provider: p.text().strictNullable(),
    model: p.text().strictNullable(),
    // Copies of the ids of the trace's parties: logs are filtered and grouped by them.
    userId: p.text().strictNullable(),
    organizationId: p.text().strictNullable(),
    input: json<unknown>().strictNullable().lazy(),
    output: json<unknown>().lazy(),
    idealOutput: json<unknown>().strictNullable().lazy(),
    variables: json<LoggedVariable[]>().strictNullable().lazy(),
    metadata: json<Record<string, unknown>>().strictNullable().lazy(),
    startTime: timestamp(),
    endTime: timestamp().strictNullable(),
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
  ],
});
export type Log = InferEntity<typeof Log>;

/** A trace as an entity, or as a plain row without relations. */
export type TraceRecord = Trace | Omit<Trace, "workspace" | "logs">;
/** A log as an entity, or as a plain row with the ids of its relations, perhaps without its payload. */
export type LogRecord = Log | LogRow;
type Relations = "workspace" | "trace" | "prompt";
type Payload = "input" | "output" | "idealOutput" | "variables" | "metadata";
type LogRow = Omit<
  Log,
  Relations | Payload | "createdAt" | "provider" | "userId" | "organizationId" | "searchId"
> &
  Partial<Pick<Log, Payload>> & { trace: string; prompt: string | null };
