import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { DATASET, headers } from "./gateway.ts";

/** What was sent under names of which each is sent once, and what became of it. */
export interface Ledger {
  sent: Set<string>;
  acknowledged: Set<string>;
  /** Answers that are no success. */
  refused: { status: number; code: string | undefined; retryAfter: string | null; message: string }[];
  /** How many requests had no answer at all. */
  unanswered: number;
}

export const newLedger = (): Ledger => ({
  sent: new Set(),
  acknowledged: new Set(),
  refused: [],
  unanswered: 0,
});

const log = (name: string) => ({
  slug: "rows",
  input: `the words ${name}`,
  output: 1,
  user: { id: name },
});
const row = (name: string) => ({ name, values: { a: name } });
const logPrompt = (input: object) => ({
  query: "mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { id } } }",
  variables: { input },
});
const addItem = (input: object) => ({
  query: `mutation ($input: DatasetItemInput!) { addDatasetItem(slug: "${DATASET}", input: $input) { datasetRow { id } } }`,
  variables: { input },
});

const trace = (name: string) => ({
  user: { id: name },
  logs: [{ id: "1", type: "generation", input: `the words ${name}`, output: 1 }],
});

/** A request of OpenTelemetry with one span. */
const span = (name: string) => {
  const id = name.replaceAll("-", "");
  const startTimeUnixNano = `${Date.now()}000000`;
  const attributes = [
    { key: "user.id", value: { stringValue: name } },
    { key: "input.value", value: { stringValue: `the words ${name}` } },
  ];
  const spans = [{ traceId: id, spanId: id.slice(16), name: "step", startTimeUnixNano, attributes }];
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
};
const SPANS = "/v1/traces";

/** By both APIs, and both by the group commit and by a unit of work of the ORM (rows with a key). */
export const kinds: ((name: string) => [path: string, body: object])[] = [
  (name) => ["/monitor/log", log(name)],
  (name) => ["/graphql", logPrompt(log(name))],
  (name) => [`/datasets/${DATASET}/items`, row(name)],
  (name) => ["/graphql", addItem(row(name))],
  (name) => [`/datasets/${DATASET}/items`, { ...row(name), key: name }],
  (name) => ["/graphql", addItem({ ...row(name), key: name })],
  (name) => ["/monitor/trace", trace(name)],
  (name) => [SPANS, span(name)],
];

const AFTER_A_REFUSAL_MS = 20;

/**
 * Has many writers add logs and rows, each as fast as it is answered, until they are stopped or, unless `isPatient`, have
 * no answer any more.
 */
export function startWriters(
  url: string,
  ledger: Ledger,
  { count = 64, isPatient = false }: { count?: number; isPatient?: boolean } = {},
) {
  let isStopped = false;
  const write = async (at: number) => {
    for (let n = at; !isStopped; n++) {
      const isAnswered = await writeOne(url, ledger, kinds[n % kinds.length]!);
      if (isAnswered === "unanswered" && !isPatient) return;
      if (isAnswered !== "acknowledged") await wait(AFTER_A_REFUSAL_MS);
    }
  };
  const ended = Promise.all(Array.from({ length: count }, (_, at) => write(at)));
  return {
    /** Resolves when all writers have ended. */
    ended,
    stop: async () => {
      isStopped = true;
      await ended;
    },
  };
}

/** As an exporter does that missed the answer. */
async function sendAgain(url: string, ledger: Ledger, body: object) {
  try {
    await (await fetch(url + SPANS, { method: "POST", headers, body: JSON.stringify(body) })).text();
    return "acknowledged";
  } catch {
    ledger.unanswered += 1;
    return "unanswered";
  }
}

async function writeOne(url: string, ledger: Ledger, kind: (typeof kinds)[number]) {
  const name = randomUUID();
  const [path, body] = kind(name);
  ledger.sent.add(name);
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    text = await answer.text();
  } catch {
    ledger.unanswered += 1;
    return "unanswered";
  }
  const answered = JSON.parse(text);
  if (answer.ok && !answered.errors) {
    ledger.acknowledged.add(name);
    return path === SPANS ? sendAgain(url, ledger, body) : "acknowledged";
  }
  const [error] = answered.errors ?? [];
  ledger.refused.push({
    status: answer.status,
    code: answered.code ?? error?.extensions?.code,
    retryAfter: answer.headers.get("retry-after"),
    message: answered.error ?? error?.message,
  });
  return "refused";
}
