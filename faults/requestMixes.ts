import { randomUUID } from "node:crypto";
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
const list = { query: "{ logs(first: 10) { nodes { id slug output cost trace { id name } } } }" };

type Request = [method: "GET" | "POST", path: string, body?: object | string, withKey?: "with a key"];
type Part = [share: number, ...Request];

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
  /** The same, with keys, with lists and with what is refused for what is wrong with it. */
  mixed: [
    ...served,
    [2, "POST", "/monitor/log", reported, "with a key"],
    [1, "POST", "/graphql", list],
    [1, "GET", "/prompts/nothing/describe"],
    [1, "GET", "/nothing"],
    [1, "POST", "/monitor/log", "{ not JSON"],
    [1, "POST", "/monitor/log", { slug: 5 }],
    [1, "POST", "/graphql", { query: "{ nothing }" }],
  ] satisfies Part[],
};

export type Mix = keyof typeof mixes;

/** A request as bytes, and where in them the key stands that no other may have. */
export interface Prepared {
  bytes: Buffer;
  keyAt: number | undefined;
}

/** The requests of a mix, each as often as its share. */
export function requestsOf(mix: Mix, token = TOKEN): Prepared[] {
  return mixes[mix].flatMap(([share, ...request]) => Array<Prepared>(share).fill(prepare(request, token)));
}

/** What to send for it, with a key of its own where it has one. */
export function bytesOf({ bytes, keyAt }: Prepared): Buffer {
  if (keyAt === undefined) return bytes;
  const own = Buffer.from(bytes);
  own.write(randomUUID(), keyAt, "latin1");
  return own;
}

function prepare([method, path, body, withKey]: Request, token: string): Prepared {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const length = text === undefined ? [] : [`Content-Length: ${Buffer.byteLength(text)}`];
  const type = text === undefined ? [] : ["Content-Type: application/json"];
  const key = withKey && randomUUID();
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${token}`,
    ...(key ? [`Idempotency-Key: ${key}`] : []),
    ...type,
    ...length,
  ];
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n${text ?? ""}`);
  return { bytes, keyAt: key ? bytes.indexOf(key) : undefined };
}
