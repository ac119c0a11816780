import type { Field, Source } from "./source.ts";
import { toAmount, toCount } from "./values.ts";

const mlflowUsage = "mlflow.chat.tokenUsage";
const langfuseUsage = "langfuse.observation.usage_details";
const langsmithUsage = "langsmith.metadata.usage_metadata";
const langfuseCost = "langfuse.observation.cost_details";

/** Langfuse's counts exclude each other; the input and output of every other sender include their parts. */
const langfuse = (member: string) => ({ attribute: langfuseUsage, member, isDisjoint: true }) as const;

const count = (...from: Source[]): Field<number> => ({ from, accept: toCount });
const amount = (...from: Source[]): Field<number> => ({ from, accept: toAmount });

/** The sources of a span's tokens. An aggregate over all calls of an agent comes last. */
export const tokenFields = {
  inputTokens: count(
    { attribute: "gen_ai.usage.input_tokens" },
    { attribute: "gen_ai.usage.prompt_tokens" },
    { attribute: "llm.token_count.prompt" },
    { attribute: "ai.usage.inputTokens" },
    { attribute: "ai.usage.promptTokens" },
    { attribute: "ai.usage.tokens" },
    { attribute: mlflowUsage, member: "input_tokens" },
    langfuse("input"),
    { attribute: "gen_ai.aggregated_usage.input_tokens" },
  ),
  outputTokens: count(
    { attribute: "gen_ai.usage.output_tokens" },
    { attribute: "gen_ai.usage.completion_tokens" },
    { attribute: "llm.token_count.completion" },
    { attribute: "ai.usage.outputTokens" },
    { attribute: "ai.usage.completionTokens" },
    { attribute: mlflowUsage, member: "output_tokens" },
    langfuse("output"),
    { attribute: "gen_ai.aggregated_usage.output_tokens" },
  ),
  cacheReadTokens: count(
    { attribute: "gen_ai.usage.cache_read.input_tokens" },
    { attribute: "gen_ai.usage.cache_read_input_tokens" },
    { attribute: "gen_ai.usage.details.cache_read_tokens" },
    { attribute: "llm.token_count.prompt_details.cache_read" },
    { attribute: "ai.usage.inputTokenDetails.cacheReadTokens" },
    { attribute: "ai.usage.cachedInputTokens" },
    { attribute: "gen_ai.usage.input_token_details", member: "cache_read" },
    { attribute: langsmithUsage, member: "input_token_details.cache_read" },
    { attribute: mlflowUsage, member: "cache_read_input_tokens" },
    langfuse("input_cached_tokens"),
    langfuse("input_cache_read"),
    langfuse("cache_read_input_tokens"),
    { attribute: "gen_ai.aggregated_usage.cache_read.input_tokens" },
  ),
  cacheWriteTokens: count(
    { attribute: "gen_ai.usage.cache_creation.input_tokens" },
    { attribute: "gen_ai.usage.cache_write.input_tokens" },
    { attribute: "gen_ai.usage.cache_creation_input_tokens" },
    { attribute: "gen_ai.usage.cache_write_input_tokens" },
    { attribute: "gen_ai.usage.details.cache_write_tokens" },
    { attribute: "llm.token_count.prompt_details.cache_write" },
    { attribute: "ai.usage.inputTokenDetails.cacheWriteTokens" },
    { attribute: "gen_ai.usage.input_token_details", member: "cache_creation" },
    { attribute: langsmithUsage, member: "input_token_details.cache_creation" },
    { attribute: mlflowUsage, member: "cache_creation_input_tokens" },
    langfuse("input_cache_creation"),
    langfuse("cache_creation_input_tokens"),
    { attribute: "gen_ai.aggregated_usage.cache_creation.input_tokens" },
  ),
  reasoningTokens: count(
    { attribute: "gen_ai.usage.reasoning.output_tokens" },
    { attribute: "gen_ai.usage.reasoning_tokens" },
    { attribute: "gen_ai.usage.details.reasoning_tokens" },
    { attribute: "llm.token_count.completion_details.reasoning" },
    { attribute: "ai.usage.outputTokenDetails.reasoningTokens" },
    { attribute: "ai.usage.reasoningTokens" },
    { attribute: "gen_ai.usage.output_token_details", member: "reasoning" },
    { attribute: langsmithUsage, member: "output_token_details.reasoning" },
    langfuse("output_reasoning_tokens"),
    langfuse("output_reasoning"),
    { attribute: "gen_ai.aggregated_usage.details.reasoning_tokens" },
  ),
};

/** The sources of a cost in US dollars. */
export const costField = amount(
  { attribute: langfuseCost, member: "total" },
  { attribute: "gen_ai.usage.cost" },
  { attribute: "gen_ai.cost.total_cost" },
  { attribute: "llm.cost.total" },
  { attribute: "operation.cost" },
  { attribute: "mlflow.llm.cost", member: "total_cost" },
  { attribute: "basalt.span.cost" },
);
