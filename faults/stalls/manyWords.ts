import { encodeSpans, newSpan, PROTOBUF } from "../../test/support/otlp.ts";
import { get, graphql, post, type StoredData } from "./storing.ts";

const LETTERS = 26;
const WORD_LETTERS = 5;
const WORDS = LETTERS ** WORD_LETTERS;
/** Has no divisor in common with WORDS, so that no word comes again before all others. */
const STRIDE = 7_368_787;

let words = 0;

function nextWord(): string {
  words += 1;
  let at = (words * STRIDE) % WORDS;
  let word = "";
  for (let letter = 0; letter < WORD_LETTERS; letter++) {
    word += String.fromCharCode(97 + (at % LETTERS));
    at = Math.floor(at / LETTERS);
  }
  return word;
}

const text = (count: number) => Array.from({ length: count }, nextWord).join(" ");

const trace = (logs: number, log: () => object) =>
  post(
    "/monitor/trace",
    JSON.stringify({
      name: "words",
      logs: Array.from({ length: logs }, (_, n) => ({ id: String(n), type: "event", ...log() })),
    }),
  );

const SPANS = 1_000;
const SPANS_AT_ONCE = 50;
const WORDS_OF_PAYLOAD = 8_000;

function spansOf(ids: Pick<ReturnType<typeof newSpan>, "traceId" | "spanId">[]) {
  const spans = ids.map(({ traceId, spanId }) =>
    newSpan({
      traceId,
      spanId,
      attributes: ["gen_ai.input.messages", "gen_ai.output.messages"].map((key) => ({
        key,
        value: { stringValue: text(WORDS_OF_PAYLOAD) },
      })),
    }),
  );
  return post("/v1/traces", encodeSpans(spans), PROTOBUF);
}

const TIMES = 3;
const three = <Value>(make: () => Value) => Array.from({ length: TIMES }, make);

/** The index of words takes longer for them than all else, and so does what it has to forget. */
const manyWords: StoredData = {
  name: "words that all differ",
  store: async (send, scale) => {
    const ids = Array.from({ length: SPANS * scale }, () => newSpan());
    const batches = Array.from({ length: Math.ceil(ids.length / SPANS_AT_ONCE) }, (_, n) =>
      ids.slice(n * SPANS_AT_ONCE, (n + 1) * SPANS_AT_ONCE),
    );
    for (const batch of batches) await send(spansOf(batch));
    const slug = () => ({ prompt: { slug: `${"€".repeat(315)} ${nextWord()}` } });
    return {
      ...Object.fromEntries(batches.map((batch, n) => [`the spans ${n} again`, three(() => spansOf(batch))])),
      "a trace of 100 logs": three(() => trace(100, () => ({ output: text(15_000) }))),
      "a trace of 1,000 logs": three(() => trace(1_000, () => ({ output: text(1_500) }))),
      "a trace of 9,500 logs": three(() => trace(9_500, () => ({ output: text(150) }))),
      "a trace of 9,500 logs with long slugs": three(() => trace(9_500, slug)),
      pruneTraces: graphql('mutation { pruneTraces(input: { before: "2100-01-01" }) { traces } }'),
    };
  },
};

const PROMPTS = 20_000;
const PROMPTS_AT_ONCE = 30;
const DESCRIPTION = "€".repeat(10_000);

/** What stands behind a description is read after it. */
const longDescriptions: StoredData = {
  name: "prompts with long descriptions",
  store: async (send, scale) => {
    for (let made = 0; made < PROMPTS * scale; made += PROMPTS_AT_ONCE) {
      const some = Array.from(
        { length: PROMPTS_AT_ONCE },
        (_, n) => `m${n}: createPrompt(input: { slug: "p${made + n}", description: $text }) { __typename }`,
      );
      await send(graphql(`mutation ($text: String) { ${some.join(" ")} }`, { text: DESCRIPTION }));
    }
    const none = { or: [{ slug: ["none"] }, { featureSlug: ["none"] }] };
    const aliases = ["a", "b", "c", "d"].map((alias) => `${alias}: prompts(filter: $none) { nodes { id } }`);
    return {
      "by a filter, four times": graphql(`query ($none: PromptFilter) { ${aliases.join(" ")} }`, { none }),
      "of another feature": graphql('{ prompts(featureSlug: "none") { nodes { id } } }'),
      "GET /prompts": get("/prompts"),
    };
  },
};

export const manyTexts: StoredData[] = [manyWords, longDescriptions];
