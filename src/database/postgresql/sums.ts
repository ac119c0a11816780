import { type Expression, type SqlBool, sql } from "kysely";

const TEXTS = ["prompt_slug", "version", "model", "user_id", "organization_id"];
const FIGURES = [
  ...["latency_ms", "input_tokens", "output_tokens", "cost", "cost_source"],
  ...["cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "status"],
];
/** An entry of an index has at most 2,704 bytes; the other columns take less than 200. */
const MAX_TEXT_BYTES = 2_000;

const quote = (name: string) => `"${name}"`;
const bytes = TEXTS.map((name) => `coalesce(octet_length(${quote(name)}), 0)`).join(" + ");
const fits = `${bytes} <= ${MAX_TEXT_BYTES}`;
const exceeds = `${bytes} > ${MAX_TEXT_BYTES}`;

/** The indexes for sums: one that includes all summed columns, and one of the logs whose texts are too long for it. */
export const summedIndexes = [
  {
    name: "logs_summed",
    expression: `create index "logs_summed" on "logs" ("workspace_id", "start_time", "id") include (${[...TEXTS, ...FIGURES].map(quote).join(", ")}) where ${fits}`,
  },
  {
    name: "logs_not_summed",
    expression: `create index "logs_not_summed" on "logs" ("workspace_id", "start_time", "id") where ${exceeds}`,
  },
];

/** The conditions of these indexes, word for word. Each log meets one of them. */
export const summedParts: Expression<SqlBool>[] = [fits, exceeds].map(
  (part) => sql<SqlBool>`${sql.raw(`(${part})`)}`,
);
