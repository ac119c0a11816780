import { DATASET, TOKEN } from "./gateway.ts";

// What clients of a service with the sample send, as bytes, so that sending costs next to nothing.

const TEXT =
  "What is the capital of Kenya, and which of its neighbours has the longest border with it? ".repeat(5);
const reported = {
  ...{ slug: "country-guide", input: TEXT, output: TEXT, user: { id: "u1" } },
  ...{ inputTokens: 120, outputTokens: 118, cost: 0.0004 },
};
const counted = { slug: "country-guide", input: TEXT, output: TEXT };
const row = { values: { a: TEXT }, idealOutput: "Nairobi" };
const describe = {
  query: `query Describe($slug: String!) { describePrompt(slug: $slug) {
    slug name status availableVersions availableTags variables { label type } warning } }`,
  variables: { slug: "country-guide" },
};
const log = {
  query:
    "mutation ($input: LogPromptInput!) { logPrompt(input: $input) { trace { id } log { id } warning } }",
  variables: { input: reported },
};
const list = { query: "{ logs(first: 10) { id slug output cost trace { id name } } }" };

type Part = [share: number, method: "GET" | "POST", path: string, body?: object | string];

const served: Part[] = [
  [8, "POST", "/monitor/log", reported],
  [2, "POST", "/monitor/log", counted],
  [4, "GET", "/prompts/country-guide/describe"],
  [2, "GET", "/datasets/country-quiz"],
  [2, "POST", `/datasets/${DATASET}/items`, row],
  [1, "POST", "/graphql", describe],
  [1, "POST", "/graphql", log],
];
const mixes = {
  /** What is answered with a success. */
  served,
  /** The same, with lists and with what is refused for what is wrong with it. */
  mixed: [
    ...served,
    [1, "POST", "/graphql", list],
    [1, "GET", "/prompts/nothing/describe"],
    [1, "GET", "/nothing"],
    [1, "POST", "/monitor/log", "{ not JSON"],
    [1, "POST", "/monitor/log", { slug: 5 }],
    [1, "POST", "/graphql", { query: "{ nothing }" }],
  ] satisfies Part[],
};

export type Mix = keyof typeof mixes;

/** The requests of a mix, each as often as its share. */
export function requestsOf(mix: Mix, token = TOKEN): Buffer[] {
  return mixes[mix].flatMap(([share, ...part]) => Array<Buffer>(share).fill(toBytes(part, token)));
}

function toBytes([method, path, body]: [string, string, (object | string)?], token: string): Buffer {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const length = text === undefined ? [] : [`Content-Length: ${Buffer.byteLength(text)}`];
  const type = text === undefined ? [] : ["Content-Type: application/json"];
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${token}`,
    ...type,
    ...length,
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text ?? ""}`);
}
