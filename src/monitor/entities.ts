import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, moment } from "../database/columns.ts";
import { Prompt } from "../prompts/entities.ts";
import { Workspace } from "../workspaces/entities.ts";

/** Somebody a call was made for. */
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

export const Trace = defineEntity({
  name: "Trace",
  tableName: "traces",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    name: p.text(),
    organization: json<Party>().strictNullable(),
    user: json<Party>().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    startTime: moment(),
    endTime: moment().strictNullable(),
    createdAt: moment(),
    logs: () => p.oneToMany(Log).mappedBy("trace").orderBy({ id: "asc" }),
  },
  indexes: [{ properties: ["workspace", "startTime", "id"] }],
});
export type Trace = InferEntity<typeof Trace>;

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
    model: p.text().strictNullable(),
    input: json<unknown>().strictNullable(),
    output: json<unknown>(),
    idealOutput: json<unknown>().strictNullable(),
    variables: json<LoggedVariable[]>().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    startTime: moment(),
    endTime: moment().strictNullable(),
    latencyMs: p.bigint("number").strictNullable(),
    inputTokens: p.integer().strictNullable(),
    outputTokens: p.integer().strictNullable(),
    cost: p.double().$type<number>().strictNullable(),
    costSource: p.enum(costSources),
    createdAt: moment(),
  },
  indexes: [
    { properties: ["workspace", "startTime", "id"] },
    { properties: ["workspace", "prompt", "startTime", "id"] },
    // The parent stands first: by it the database finds the children when the parent is deleted.
    { properties: ["trace", "workspace", "id"] },
  ],
});
export type Log = InferEntity<typeof Log>;
