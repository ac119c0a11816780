import type { Context } from "../context.ts";
import { mapSpan } from "../logs/otlp/mapping.ts";
import { recordSpans } from "../logs/spans.resolvers.ts";
import { agent, chat, type Step, tool, toSpan } from "./spans.ts";

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Adds three traces of a travel agent, as OpenTelemetry would send them: at noon of yesterday and in the hours after. */
export async function addSampleTraces(context: Context, nowMs: number): Promise<void> {
  const noonMs = Math.floor(nowMs / DAY_MS) * DAY_MS - DAY_MS / 2;
  const spans = traces.flatMap((steps, n) =>
    steps.map((step) => mapSpan(toSpan(step, n + 1, noonMs + n * HOUR_MS))),
  );
  await recordSpans(context, spans);
}

const PLAN = "Day 1: Nairobi National Park. Day 2: Lake Naivasha. Day 3: back to Nairobi.";

const traces: Step[][] = [
  [
    agent("plan a trip", { question: "Plan three days in Kenya.", answer: PLAN, durationMs: 4_200 }),
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
    agent("book a hotel", {
      question: "Book a hotel in Nairobi.",
      answer: "No hotel could be booked.",
      durationMs: 2_600,
    }),
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
