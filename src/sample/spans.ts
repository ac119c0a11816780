import type { OtlpAttributes, OtlpSpan } from "../logs/otlp/span.ts";

/** The environment of the traces of the sample, by which they are known again. */
export const SAMPLE_ENVIRONMENT = "gabbro-sample";

/** A step of a trace of the sample. */
export interface Step {
  /** From 1, unique within the trace. */
  id: number;
  parent: number | null;
  name: string;
  /** From the start of the trace. */
  startMs: number;
  durationMs: number;
  attributes: OtlpAttributes;
  /** The message of an error. */
  error?: string;
}

/** A step as OpenTelemetry would send it, of the trace with that number. */
export function toSpan(step: Step, trace: number, traceMs: number): OtlpSpan {
  const { id, parent, name, startMs, durationMs, attributes, error } = step;
  const startTime = new Date(traceMs + startMs);
  const endTime = new Date(startTime.getTime() + durationMs);
  return {
    traceId: trace.toString(16).padStart(32, "0"),
    spanId: spanIdOf(id),
    parentSpanId: parent === null ? null : spanIdOf(parent),
    hasRemoteParent: false,
    ...{ name, kind: "internal", startTime, endTime, attributes },
    startNanos: `${startTime.getTime()}000000`,
    endNanos: `${endTime.getTime()}000000`,
    events: error === undefined ? [] : [exceptionOf(error, endTime)],
    links: [],
    status: error === undefined ? null : "error",
    statusMessage: error ?? null,
    traceState: null,
    resource: { "service.name": "trip-planner", "deployment.environment.name": SAMPLE_ENVIRONMENT },
    scope: { name: "gabbro-sample", version: null, attributes: {} },
  };
}

const spanIdOf = (id: number): string => id.toString(16).padStart(16, "0");

const exceptionOf = (message: string, time: Date) => ({
  name: "exception",
  time: time.toISOString(),
  attributes: { "exception.type": "Error", "exception.message": message },
});

/** A model with its provider and its prices of a million tokens in dollars, as the price list of Gabbro has them. */
interface PricedModel {
  provider: string;
  model: string;
  inputPrice: number;
  outputPrice: number;
}

const models = {
  "gpt-4o-mini": priced("openai", "gpt-4o-mini", 0.15, 0.6),
  "gpt-5-mini": priced("openai", "gpt-5-mini", 0.25, 2),
  "claude-sonnet-4-5": priced("anthropic", "claude-sonnet-4-5", 3, 15),
};
export type ModelName = keyof typeof models;

function priced(provider: string, model: string, inputPrice: number, outputPrice: number): PricedModel {
  return { provider, model, inputPrice, outputPrice };
}

/** Who a trace is for. */
export interface Caller {
  user: string;
  session: string;
}

const amina: Caller = { user: "amina", session: "sample-session" };

export const attributesOf = ({ user, session }: Caller) => ({ "session.id": session, "user.id": user });

/** The run of an agent, at the top of a trace. */
export const agent = (
  name: string,
  {
    question,
    answer,
    durationMs,
    caller = amina,
  }: { question: string; answer: string; durationMs: number; caller?: Caller },
): Step => ({
  ...{ id: 1, parent: null, name, startMs: 0, durationMs },
  attributes: {
    "gen_ai.operation.name": "invoke_agent",
    ...attributesOf(caller),
    "gen_ai.input.messages": messages("user", question),
    "gen_ai.output.messages": messages("assistant", answer),
  },
});

/** A call of a model. With a cost of its own, as the first start would load the list of prices for it. */
export const chat = (
  place: Pick<Step, "id" | "parent" | "startMs" | "durationMs">,
  said: { question: string; answer: string | null; tokensIn: number; tokensOut: number; model?: ModelName },
): Step => {
  const { provider, model, inputPrice, outputPrice } = models[said.model ?? "gpt-4o-mini"];
  return {
    ...place,
    name: `chat ${model}`,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": provider,
      "gen_ai.request.model": model,
      "gen_ai.usage.input_tokens": said.tokensIn,
      "gen_ai.usage.output_tokens": said.tokensOut,
      "gen_ai.usage.cost": (said.tokensIn * inputPrice + said.tokensOut * outputPrice) / 1_000_000,
      "gen_ai.input.messages": messages("user", said.question),
      ...(said.answer !== null && { "gen_ai.output.messages": messages("assistant", said.answer) }),
    },
  };
};

const messages = (role: string, content: string) => [{ role, parts: [{ type: "text", content }] }];

/** A call of a tool. */
export const tool = (
  place: Pick<Step, "id" | "parent" | "startMs" | "durationMs">,
  name: string,
  given: OtlpAttributes,
  result: unknown,
): Step => ({
  ...place,
  name,
  attributes: {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.arguments": given,
    ...(result !== null && { "gen_ai.tool.call.result": result }),
  },
});
