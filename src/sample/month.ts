import type { Context } from "../context.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { mapSpan } from "../logs/otlp/mapping.ts";
import type { ReportedSpan } from "../logs/reported.ts";
import { recordSpans } from "../logs/spans.resolvers.ts";
import { countries } from "./countries.ts";
import { PUBLISHED, TRIED } from "./prompts.ts";
import { createRandom, type Random } from "./random.ts";
import { attributesOf, type Caller, chat, type ModelName, type Step, toSpan } from "./spans.ts";
import { DAY_MS } from "./traces.ts";
import { planOfTrip } from "./trips.ts";

const DAYS = 30;
const MINUTE_MS = 60_000;
const SPANS_AT_ONCE = 100;
/** The numbers of traces of a day begin with its own. */
const NUMBERS_OF_DAY = 1_000;
const SEED = 7;

/** The day, counted back from today, on which the provider of the sample was slow and answered with errors. */
const DAY_OF_ERRORS = 3;

/** Adds 30 days of calls and of runs of an agent, up to now, as OpenTelemetry would send them; about 1,200 logs. */
export async function addSampleMonth(context: Context, nowMs: number): Promise<void> {
  disableDeadline(context);
  const random = createRandom(SEED);
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  let waiting: ReportedSpan[] = [];
  for (let ago = DAYS; ago >= 0; ago--)
    for (const [n, trace] of tracesOfDay(random, ago).entries()) {
      const atMs = today - ago * DAY_MS + trace.minute * MINUTE_MS;
      if (atMs > nowMs - MINUTE_MS) continue; // later today
      const number = (DAYS - ago + 1) * NUMBERS_OF_DAY + n;
      waiting.push(...trace.steps.map((step) => mapSpan(toSpan(step, number, atMs))));
      if (waiting.length < SPANS_AT_ONCE) continue;
      await recordSpans(context, waiting);
      waiting = [];
    }
  await recordSpans(context, waiting);
}

interface Trace {
  /** Of the day. */
  minute: number;
  steps: Step[];
}

/** More traces from day to day, and fewer on every sixth and seventh day. */
function tracesOfDay(random: Random, ago: number): Trace[] {
  const share = (ago % 7 < 2 ? 0.5 : 1) * (1 - ago / (2 * DAYS));
  const many = (count: number, make: (minute: number) => Step[]) =>
    Array.from({ length: Math.round(count * share) }, (): Trace => {
      const minute = minuteOf(random);
      return { minute, steps: make(minute) };
    });
  return [
    ...many(28, (minute) => [answer(random, ago, minute)]),
    ...many(6, () => [description(random)]),
    ...many(4, () => planOfTrip(random, callerOf(random))),
  ];
}

/** Mostly in the afternoon: the sum of three throws. */
const minuteOf = ({ below }: Random) => 5 * 60 + below(360) + below(360) + below(360);

const users = ["amina", "bruno", "chidi", "dana", "emre", "freya", "goran", "hana", "ines", "jonas"];

const callerOf = ({ oneOf, below }: Random): Caller => {
  const user = oneOf(users);
  return { user, session: `sample-${user}-${below(40)}` };
};

const questions = [
  {
    question: "What is the capital?",
    answer: ({ name, capital }: Country) => `The capital of ${name} is ${capital}.`,
  },
  {
    question: "Which currency do I need?",
    answer: ({ name, currency }: Country) => `In ${name} you pay with ${currency}.`,
  },
  {
    question: "Do I need a visa?",
    answer: ({ name }: Country) => `That depends on your passport; ask the embassy of ${name}.`,
  },
  {
    question: "What should I see in three days?",
    answer: ({ capital }: Country) =>
      `Stay in ${capital} for two days, and take a train into the country on the third.`,
  },
];
type Country = (typeof countries)[number];

/** A call of `country-guide`, in the version that served at the time. */
function answer(random: Random, ago: number, minute: number): Step {
  const { oneOf, below, random: share } = random;
  const isTried = ago <= TRIED && share() < 0.2;
  const version = isTried ? "2.0.0" : ago <= PUBLISHED ? "1.1.0" : "1.0.0";
  const model: ModelName = isTried ? "gpt-5-mini" : "gpt-4o-mini";
  const country = oneOf(countries);
  const { question, answer: answerOf } = oneOf(questions);
  const isSlow = ago === DAY_OF_ERRORS && minute >= 13 * 60 && minute < 16 * 60;
  const hasFailed = share() < (isSlow ? 0.4 : 0.02);
  const text =
    version === "1.0.0"
      ? `Answer this question about ${country.name}: ${question}`
      : `Country: ${country.name}\nQuestion: ${question}`;
  const durationMs = Math.round(
    (isTried ? 1_900 : 700) * (0.5 + share() + share() ** 4 * 3) * (isSlow ? 5 : 1),
  );
  const call = chat(
    { id: 1, parent: null, startMs: 0, durationMs },
    {
      question: isTried ? `${text}\nWrite for children.` : text,
      answer: hasFailed ? null : answerOf(country),
      tokensIn: (version === "1.0.0" ? 24 : 46) + below(12),
      tokensOut: hasFailed ? 0 : (isTried ? 240 : 18) + below(30),
      model,
    },
  );
  const variables = { country: country.name, question, ...(isTried && { audience: "children" }) };
  return {
    ...call,
    attributes: {
      ...call.attributes,
      ...attributesOf(callerOf(random)),
      "gabbro.prompt.slug": "country-guide",
      "gabbro.prompt.version": version,
      "gabbro.prompt.tag": isTried ? "staging" : "production",
      "llm.prompt_template.variables": variables,
    },
    ...(hasFailed && {
      error: isSlow ? "The provider did not answer within 10 s." : "429: too many requests",
    }),
  };
}

/** A call of the draft `flag-describer`. */
function description(random: Random): Step {
  const { oneOf, below } = random;
  const { name } = oneOf(countries);
  const call = chat(
    { id: 1, parent: null, startMs: 0, durationMs: 1_800 + below(2_400) },
    {
      question: `Describe this flag in two sentences: ${name.toLowerCase().replaceAll(" ", "-")}.svg`,
      answer: `The flag of ${name} has plain stripes. All of them have the same width.`,
      tokensIn: 310 + below(40),
      tokensOut: 50 + below(30),
      model: "claude-sonnet-4-5",
    },
  );
  const served = { "gabbro.prompt.slug": "flag-describer", "gabbro.prompt.version": "0.1.0" };
  return { ...call, attributes: { ...call.attributes, ...attributesOf(callerOf(random)), ...served } };
}
