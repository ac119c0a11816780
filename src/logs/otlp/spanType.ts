import type { ReportedType } from "../reported.ts";
import { typeSources } from "./mappingTable.ts";
import type { TypeSource } from "./source.ts";
import type { OtlpAttributes } from "./span.ts";

/** The words of all senders, in lower case. Operations of the AI SDK stand without "ai." and what precedes a call. */
const wordsOfType: Record<ReportedType, string> = {
  generation:
    "generation llm chat chat_model generate_content text_completion completion dogenerate dostream",
  embedding: "embedding embeddings doembed",
  span:
    "span basalt_trace chain workflow invoke_workflow task plan agent_step prompt parser decision " +
    "generatetext streamtext generateobject streamobject embed embedmany rerank",
  function: "function",
  tool: "tool execute_tool toolcall",
  retrieval: "retrieval retriever reranker dorerank",
  event: "event",
  agent: "agent invoke_agent create_agent",
  evaluator: "evaluator",
  guardrail: "guardrail",
};

/** More than any word has. */
const MAX_WORD_CHARACTERS = 100;

const typeOfWord = new Map(
  Object.entries(wordsOfType).flatMap(([type, words]) =>
    words.split(" ").map((word) => [word, type as ReportedType] as const),
  ),
);

/** The type of a span and what decided it; a span when nothing does. */
export function findType(attributes: OtlpAttributes): { type: ReportedType; source: TypeSource | null } {
  for (const source of typeSources) {
    const type = "word" in source ? readWord(attributes[source.word]) : readPresent(attributes, source);
    if (type) return { type, source };
  }
  return { type: "span", source: null };
}

function readWord(value: unknown): ReportedType | undefined {
  if (typeof value !== "string") return undefined;
  // MLflow's words are in quotation marks; the AI SDK's operation.name is "ai.generateText.doGenerate <function id>".
  const [word = ""] = value.slice(0, MAX_WORD_CHARACTERS).toLowerCase().replaceAll('"', "").split(" ", 1);
  return typeOfWord.get(word.startsWith("ai.") ? word.slice(word.lastIndexOf(".") + 1) : word);
}

function readPresent(
  attributes: OtlpAttributes,
  { present, type }: Extract<TypeSource, { present: string }>,
): ReportedType | undefined {
  const value = attributes[present];
  return value === undefined || value === null || value === "" ? undefined : type;
}
