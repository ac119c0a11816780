import { countries } from "./countries.ts";
import type { Random } from "./random.ts";
import { agent, type Caller, chat, type Step, tool } from "./spans.ts";

type Country = (typeof countries)[number];

/** A run of the travel agent: it looks for guides, asks for the weather, and writes a plan; at times it asks again and again. */
export function planOfTrip(random: Random, caller: Caller): Step[] {
  const { oneOf, below, random: share } = random;
  const country = oneOf(countries);
  const days = 2 + below(8);
  const rounds = share() < 0.1 ? 4 + below(4) : 1 + below(2);
  const said = { question: `Plan ${days} days in ${country.name}.`, answer: planOf(country, days) };
  const steps: Step[] = [];
  let nowMs = 15;
  const place = (durationMs: number) => {
    const startMs = nowMs;
    nowMs += durationMs + 10 + below(40);
    return { id: steps.length + 2, parent: 1, startMs, durationMs };
  };
  steps.push(searchOf(country, place(180 + below(300))));
  for (let round = 0; round < rounds; round++) {
    steps.push(
      chat(place(700 + below(900)), {
        question: `${said.question} What else do you need?`,
        answer: `The weather in ${country.capital}.`,
        tokensIn: 900 + round * 1_400 + below(300),
        tokensOut: 20 + below(20),
        model: "gpt-5-mini",
      }),
      weatherIn(country.capital, place(120 + below(500)), share() < 0.05),
    );
  }
  const last = { tokensIn: 1_800 + rounds * 1_400, tokensOut: 120 + days * 40, model: "gpt-5-mini" } as const;
  steps.push(chat(place(1_800 + days * 220), { ...said, ...last }));
  return [agent("plan a trip", { ...said, durationMs: nowMs, caller }), ...steps];
}

type Place = Pick<Step, "id" | "parent" | "startMs" | "durationMs">;

const searchOf = ({ name, capital }: Country, place: Place): Step => ({
  ...place,
  name: "search guides",
  attributes: {
    "gen_ai.operation.name": "retrieval",
    "gen_ai.retrieval.query.text": `${name} for travellers`,
    "gen_ai.retrieval.documents": [
      { id: `${capital}-1`, content: `Most travellers begin in ${capital}.` },
      { id: `${capital}-2`, content: `Trains leave ${capital} in all directions.` },
    ],
  },
});

function weatherIn(city: string, place: Place, hasFailed: boolean): Step {
  const step = tool(place, "weather", { city }, hasFailed ? null : `${12 + (city.length % 9) * 2} °C, dry`);
  return hasFailed ? { ...step, error: "The weather service answered with 502." } : step;
}

const planOf = ({ capital }: Country, days: number): string =>
  Array.from({ length: days }, (_, day) =>
    day === 0 || day === days - 1
      ? `Day ${day + 1}: ${capital}.`
      : `Day ${day + 1}: an hour by train from ${capital}.`,
  ).join(" ");
