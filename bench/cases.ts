/** What is measured: one request, sent again and again to Gabbro and to the baselines that know it. */
export interface Case {
  name: string;
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  /** Sent to the baselines instead of the body, where they have no GraphQL. */
  baseBody?: unknown;
  basePath?: string;
  against: ("bare" | "plain")[];
  /** The least ratio to each baseline that we want to reach. */
  targets: Partial<Record<"bare" | "plain", number>>;
  connections?: number;
}

const INPUT = "What is the capital of Kenya? ".repeat(17); // about half a kilobyte
const record = { slug: "greeting", input: INPUT, output: INPUT, metadata: { region: "eu", attempt: 1 } };
const reported = { ...record, inputTokens: 120, outputTokens: 118, cost: 0.0004 };
const row = { values: { question: "Which country has Nairobi as its capital?", answer: "Kenya" } };

const LOG_PROMPT = `mutation LogPrompt($input: LogPromptInput!) {
  logPrompt(input: $input) { trace { id } log { id } warning } }`;
const DESCRIBE_PROMPT = `query Describe($slug: String!) { describePrompt(slug: $slug) {
  slug name status description availableVersions availableTags variables { label type description } warning } }`;
const READ_DATASET = `query Read($slug: String!) { dataset(slug: $slug) {
  slug name columns { name type } rows { nodes { values idealOutput metadata } } warning } }`;

export const cases: Case[] = [
  {
    name: "REST POST /monitor/log, 1 kB, tokens given",
    method: "POST",
    path: "/monitor/log",
    body: reported,
    against: ["bare"],
    targets: { bare: 0.55 },
  },
  {
    name: "REST POST /monitor/log, 1 kB, tokens counted by us",
    method: "POST",
    path: "/monitor/log",
    body: record,
    against: ["bare"],
    targets: { bare: 0.25 },
  },
  {
    name: "REST GET /prompts/{slug}/describe",
    method: "GET",
    path: "/prompts/greeting/describe",
    against: ["bare"],
    targets: { bare: 0.6 },
  },
  {
    name: "REST GET /prompts/{slug}",
    method: "GET",
    path: "/prompts/greeting",
    against: ["bare"],
    targets: { bare: 0.6 },
  },
  {
    name: "REST POST /datasets/{slug}/items",
    method: "POST",
    path: "/datasets/small/items",
    body: row,
    against: ["bare"],
    targets: { bare: 0.5 },
  },
  {
    name: "REST GET /datasets/{slug}, 10,000 rows x 5 columns",
    method: "GET",
    path: "/datasets/large",
    against: ["bare"],
    targets: { bare: 0.5 },
    connections: 4,
  },
  {
    name: "GraphQL logPrompt",
    method: "POST",
    path: "/graphql",
    body: { query: LOG_PROMPT, variables: { input: reported } },
    basePath: "/monitor/log",
    baseBody: reported,
    against: ["bare", "plain"],
    targets: { bare: 0.5, plain: 8 },
  },
  {
    name: "GraphQL describePrompt",
    method: "POST",
    path: "/graphql",
    body: { query: DESCRIBE_PROMPT, variables: { slug: "greeting" } },
    basePath: "/prompts/greeting/describe",
    against: ["bare", "plain"],
    targets: { bare: 0.35, plain: 5 },
  },
  {
    name: "GraphQL dataset, 10,000 rows",
    method: "POST",
    path: "/graphql",
    body: { query: READ_DATASET, variables: { slug: "large" } },
    basePath: "/datasets/large",
    against: ["bare"],
    targets: { bare: 0.25 },
    connections: 4,
  },
];
