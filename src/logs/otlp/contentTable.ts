import type { Field, Source } from "./source.ts";
import { toContent } from "./values.ts";

const content = (...from: Source[]): Field<unknown> => ({ from, accept: toContent });

/** What went into a step, in the order in which the sources are asked. */
export const inputField = content(
  { attribute: "basalt.span.input", json: "basalt" },
  { attribute: "basalt.tool.input", json: "basalt" },
  { attribute: "basalt.retrieval.query" },
  { attribute: "basalt.event.payload", json: "basalt" },
  { attribute: "langfuse.observation.input" },
  { instructions: "gen_ai.system_instructions", messages: "gen_ai.input.messages" },
  { list: "llm.input_messages" },
  { attribute: "ai.prompt.messages", json: "always" },
  { attribute: "ai.prompt", json: "always" },
  { attribute: "ai.value", json: "always" },
  { attribute: "ai.values", json: "always" },
  { attribute: "gen_ai.tool.call.arguments", json: "quoted" },
  { attribute: "ai.toolCall.args", json: "always" },
  { attribute: "gen_ai.retrieval.query.text" },
  { attribute: "traceloop.entity.input", json: "quoted" },
  { attribute: "input.value" },
  { attribute: "mlflow.spanInputs", json: "always" },
  { attribute: "pydantic_ai.all_messages" },
  { list: "gen_ai.prompt" },
  { attribute: "gen_ai.prompt" },
  { event: "gen_ai.client.inference.operation.details", attribute: "gen_ai.input.messages" },
  { event: "gen_ai.content.prompt", attribute: "gen_ai.prompt" },
  {
    events: [
      "gen_ai.system.message",
      "gen_ai.user.message",
      "gen_ai.assistant.message",
      "gen_ai.tool.message",
    ],
  },
);

/** What came out of it. */
export const outputField = content(
  { attribute: "basalt.span.output", json: "basalt" },
  { attribute: "basalt.tool.output", json: "basalt" },
  { attribute: "langfuse.observation.output" },
  { attribute: "gen_ai.output.messages" },
  { list: "llm.output_messages" },
  {
    parts: { text: "ai.response.text", object: "ai.response.object", toolCalls: "ai.response.toolCalls" },
  },
  { attribute: "gen_ai.tool.call.result", json: "quoted" },
  { attribute: "ai.toolCall.result", json: "always" },
  { attribute: "gen_ai.retrieval.documents" },
  { list: "retrieval.documents" },
  { attribute: "traceloop.entity.output", json: "quoted" },
  { attribute: "output.value" },
  { attribute: "mlflow.spanOutputs", json: "always" },
  { attribute: "final_result", for: "agent" },
  { list: "gen_ai.completion" },
  { attribute: "gen_ai.completion" },
  { event: "gen_ai.client.inference.operation.details", attribute: "gen_ai.output.messages" },
  { event: "gen_ai.content.completion", attribute: "gen_ai.completion" },
  { events: ["gen_ai.choice"] },
);
