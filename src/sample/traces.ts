import type { Context } from "../context.ts";
import { mapSpan } from "../logs/otlp/mapping.ts";
import type { OtlpAttributes, OtlpSpan } from "../logs/otlp/span.ts";
import { recordSpans } from "../logs/spans.resolvers.ts";

interface Step {
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

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Adds three traces of a travel agent, as OpenTelemetry would send them: at noon of yesterday and in the hours after. */
export async function addSampleTraces(context: Context, nowMs: number): Promise<void> {
  const noonMs = Math.floor(nowMs / DAY_MS) * DAY_MS - DAY_MS / 2;
  const spans = traces.flatMap((steps, n) =>
    steps.map((step) => mapSpan(toSpan(step, n + 1, noonMs + n * HOUR_MS))),
  );
  await recordSpans(context, spans);
}

function toSpan(step: Step, trace: number, traceMs: number): OtlpSpan {
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
    resource: { "service.name": "trip-planner", "deployment.environment.name": "sample" },
    scope: { name: "gabbro-sample", version: null, attributes: {} },
  };
}

const spanIdOf = (id: number): string => id.toString(16).padStart(16, "0");

const exceptionOf = (message: string, time: Date) => ({
  name: "exception",
  time: time.toISOString(),
  attributes: { "exception.type": "ToolError", "exception.message": message },
});

const agent = (name: string, question: string, answer: string, durationMs: number): Step => ({
  ...{ id: 1, parent: null, name, startMs: 0, durationMs },
  attributes: {
    "gen_ai.operation.name": "invoke_agent",
    "session.id": "sample-session",
    "user.id": "amina",
    "gen_ai.input.messages": messages("user", question),
    "gen_ai.output.messages": messages("assistant", answer),
  },
});

// With a cost of its own, at OpenAI's price of the model, as the first start would load the list of prices for it.
const chat = (
  place: Pick<Step, "id" | "parent" | "startMs" | "durationMs">,
  said: { question: string; answer: string; tokensIn: number; tokensOut: number },
): Step => ({
  ...place,
  name: "chat gpt-4o-mini",
  attributes: {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.usage.input_tokens": said.tokensIn,
    "gen_ai.usage.output_tokens": said.tokensOut,
    "gen_ai.usage.cost": (said.tokensIn * 0.15 + said.tokensOut * 0.6) / 1_000_000,
    "gen_ai.input.messages": messages("user", said.question),
    "gen_ai.output.messages": messages("assistant", said.answer),
  },
});

const messages = (role: string, content: string) => [{ role, parts: [{ type: "text", content }] }];

const tool = (
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

const PLAN = "Day 1: Nairobi National Park. Day 2: Lake Naivasha. Day 3: back to Nairobi.";

const traces: Step[][] = [
  [
    agent("plan a trip", "Plan three days in Kenya.", PLAN, 4_200),
    chat(
      { id: 2, parent: 1, startMs: 20, durationMs: 900 },
      {
        question: "Plan three days in Kenya.",
        answer: "I look for guides first.",
        tokensIn: 212,
        tokensOut: 34,
      },
    ),
    {
      ...{ id: 3, parent: 1, name: "search guides", startMs: 950, durationMs: 310 },
      attributes: {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "Kenya in three days",
        "gen_ai.retrieval.documents": [
          { id: "kenya-1", content: "Nairobi has a national park within the city." },
          { id: "kenya-2", content: "Lake Naivasha is two hours from Nairobi." },
        ],
      },
    },
    tool({ id: 4, parent: 1, startMs: 1_300, durationMs: 480 }, "weather", { city: "Nairobi" }, "24 °C, dry"),
    chat(
      { id: 5, parent: 1, startMs: 1_820, durationMs: 2_350 },
      {
        question: "Plan three days in Kenya from these guides.",
        answer: PLAN,
        tokensIn: 1_240,
        tokensOut: 186,
      },
    ),
  ],
  [
    agent("book a hotel", "Book a hotel in Nairobi.", "No hotel could be booked.", 2_600),
    {
      ...tool({ id: 2, parent: 1, startMs: 30, durationMs: 1_500 }, "book", { city: "Nairobi" }, null),
      error: "The hotel did not answer within 1,500 ms.",
    },
    chat(
      { id: 3, parent: 1, startMs: 1_560, durationMs: 1_000 },
      { question: "The booking failed.", answer: "No hotel could be booked.", tokensIn: 180, tokensOut: 12 },
    ),
  ],
  [
    // Its parent is never sent, such as when an application ends before its exporter has.
    tool(
      { id: 2, parent: 1, startMs: 0, durationMs: 120 },
      "exchange rate",
      { from: "EUR", to: "KES" },
      150.2,
    ),
  ],
];
