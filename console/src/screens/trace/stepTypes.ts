import type { LogType } from "../../gql/graphql.ts";

/** What kind of step it is, short enough to stand before its name. */
export const stepTypes: Record<LogType, { short: string; words: string }> = {
  AGENT: { short: "agent", words: "run of an agent" },
  EMBEDDING: { short: "embed", words: "call of a model for embeddings" },
  EVALUATOR: { short: "eval", words: "run of an evaluator" },
  EVENT: { short: "event", words: "event" },
  FUNCTION: { short: "func", words: "function of the application" },
  GENERATION: { short: "model", words: "call of a model" },
  GUARDRAIL: { short: "guard", words: "check of what went in or came out" },
  INTERNAL: { short: "intern", words: "call of a client library" },
  RETRIEVAL: { short: "search", words: "search for documents" },
  SPAN: { short: "step", words: "step" },
  TOOL: { short: "tool", words: "call of a tool" },
};
