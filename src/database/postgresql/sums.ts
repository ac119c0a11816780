import { type Expression, type SqlBool, sql } from "kysely";

const TEXTS = ["prompt_slug", "version", "model", "user_id", "organization_id"];
const FIGURES = ["latency_ms", "input_tokens", "output_tokens", "cost", "cost_source"];
/** An entry of an index has at most 2,704 bytes; the other columns take less than 200. */
const MOST_BYTES = 2_000;

const quote = (name: string) => `"${name}"`;
const bytes = TEXTS.map((name) => `coalesce(octet_length(${quote(name)}), 0)`).join(" + ");
const fits = `${bytes} <= ${MOST_BYTES}`;
const exceeds = `${bytes} > ${MOST_BYTES}`;

/** What sums are read along: an index that has all that is summed up, and one of the logs that it is too narrow for. */
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

/** The conditions of these indexes, word for word: each log meets one of them. */
export const summedParts: Expression<SqlBool>[] = [fits, exceeds].map(
  (part) => sql<SqlBool>`${sql.raw(`(${part})`)}`,
);
