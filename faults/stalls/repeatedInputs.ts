import { BOTH, fillJson, headersOf, here, type Input, MAX_BODY_BYTES } from "./inputs.ts";

const TIMES = 200;
/** A third of what a document may have, which for a megabyte of members takes 0.34 s of processor time. */
const ALIASES = 10;
const MAX_ALIASES = 30;

const repeated = (times: number, part: (n: number) => string) =>
  Array.from({ length: times }, (_, n) => part(n)).join(" ");
const log = (input: string, answer = "id") =>
  `mutation($v: JSON!) { logPrompt(input: { slug: "own-prompt", ${input} }) { log { ${answer} } } }`;

/** Where a document multiplies one value of its variables. */
const documents: Record<string, string> = {
  "members of metadata": log(`output: 1, metadata: { ${repeated(TIMES, (n) => `a${n}: $v`)} }`),
  "items of a list": log(`output: [${repeated(TIMES, () => "$v")}]`),
  "fields of an input": log("output: $v, input: $v, idealOutput: $v"),
  rows: `mutation($v: JSON!) { addDatasetItems(slug: "own-dataset", input: { items: [${repeated(TIMES, () => "{ values: {}, metadata: { a: $v } }")}] }) { errors { index } } }`,
  "fields beside one that is wrong": `mutation($v: JSONObject!, $wrong: Int!) {
    ${repeated(TIMES, () => 'logPrompt(input: { slug: "own-prompt", output: 1, metadata: $v }) { warning }')}
    wrong: logPrompt(input: { slug: "own-prompt", output: 1, inputTokens: $wrong }) { warning } }`,
  "aliases of an id": `query($v: ID!) { ${repeated(MAX_ALIASES, (n) => `a${n}: node(id: $v) { id }`)} }`,
  "aliases of what is stored": log(
    "output: $v",
    repeated(ALIASES, (n) => `a${n}: output`),
  ),
};

/** Values that grow, each of which a short document names or asks for many times. */
export function repeatedInputs(): Input[] {
  return Object.entries(documents).map(([name, query]): Input => {
    const fill = fillJson({ query, variables: { v: here, wrong: "no" } });
    return {
      name: `repeated: ${name}`,
      area: "repetitions",
      limit: MAX_BODY_BYTES,
      kinds: BOTH,
      fill: (...shaped) => ({
        ...{ method: "POST", path: "/graphql", headers: headersOf("with a token") },
        body: fill(...shaped),
      }),
    };
  });
}
