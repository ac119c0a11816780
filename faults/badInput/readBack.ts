import { randomUUID } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { headers } from "../gateway.ts";
import { exchange } from "./exchange.ts";
import { type Kept, logs, rows, versions } from "./values.ts";
import { faultOfGraphql, faultOfRest } from "./verdict.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers have every shape
type Body = any;

interface Request {
  path: string;
  body: object | null;
}

/** A way to write something by one API and to read it by the other, into a dataset or a prompt of its own. */
interface Way {
  kind: string;
  kept: fc.Arbitrary<Kept>;
  write(kept: Kept, own: string): Request;
  read(written: Body, own: string): Request;
  /** What was read, in the shape in which it was written. */
  found(read: Body): Kept;
  /** Takes away what would make the next reading longer. */
  remove?(written: Body, read: Body): Request;
}

const graphql = (query: string, variables: object) => ({ path: "/graphql", body: { query, variables } });

const LOG =
  "query ($id: ID!) { log(id: $id) { output input idealOutput metadata variables { label value } cost inputTokens startTime trace { name user { id name } } } }";
const readLog = (id: string) => graphql(LOG, { id });
const foundLog = ({ data: { log } }: Body): Kept => ({ ...log, ...log.trace });
const ADD_ROW =
  "mutation ($slug: String!, $input: DatasetItemInput!) { addDatasetItem(slug: $slug, input: $input) { datasetRow { id } } }";
const ROWS =
  "query ($slug: String!) { dataset(slug: $slug) { rows { nodes { id values idealOutput metadata } } } }";
const removeRow = (id: string) =>
  graphql("mutation ($id: ID!) { deleteDatasetItem(id: $id) { deletedDatasetItemId } }", { id });

const ways: Way[] = [
  {
    kind: "a log by REST",
    kept: logs,
    write: (kept) => ({ path: "/monitor/log", body: { slug: "kept", ...kept } }),
    read: ({ log: { id } }) => ({
      path: `/graphql?query=${encodeURIComponent(LOG)}&variables={"id":"${id}"}`,
      body: null,
    }),
    found: foundLog,
  },
  {
    kind: "a log by GraphQL",
    kept: logs,
    write: (kept) =>
      graphql("mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { id } } }", {
        input: { slug: "kept", ...kept },
      }),
    read: ({ data: { logPrompt } }) => readLog(logPrompt.log.id),
    found: foundLog,
  },
  {
    kind: "a log by GraphQL, written in the document",
    kept: logs.map(({ output, input }) => ({ output: named(output), input: named(input) })),
    write: ({ output, input }) =>
      graphql(
        `mutation { logPrompt(input: { slug: "kept", output: ${literal(output)}, input: ${literal(input)} }) { log { id } } }`,
        {},
      ),
    read: ({ data: { logPrompt } }) => readLog(logPrompt.log.id),
    found: foundLog,
  },
  {
    kind: "a row by REST",
    kept: rows,
    write: (kept, own) => ({ path: `/datasets/${own}/items`, body: kept }),
    read: (_, own) => graphql(ROWS, { slug: own }),
    found: ({ data: { dataset } }) => dataset.rows.nodes.at(-1),
    remove: (_, { data: { dataset } }) => removeRow(dataset.rows.nodes.at(-1).id),
  },
  {
    kind: "a row by GraphQL",
    kept: rows,
    write: (kept, own) => graphql(ADD_ROW, { slug: own, input: kept }),
    read: (_, own) => ({ path: `/datasets/${own}`, body: null }),
    found: ({ dataset }) => dataset.rows.at(-1),
    remove: ({ data: { addDatasetItem } }) => removeRow(addDatasetItem.datasetRow.id),
  },
  {
    kind: "a version by GraphQL",
    kept: versions,
    write: (input, own) =>
      graphql(
        "mutation ($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { warnings { message } } }",
        { slug: own, input: { ...input, version: randomUUID() } },
      ),
    read: (_, own) =>
      graphql(
        "query ($slug: String!) { prompt(slug: $slug) { latest { text systemText model { model provider parameters } } } }",
        {
          slug: own,
        },
      ),
    found: ({ data: { prompt } }) => prompt.latest,
  },
];

/** A case that is to be read back as it was sent. */
export const keptCases: fc.Arbitrary<[Way, Kept]> = fc.oneof(
  ...ways.map((way) => fc.tuple(fc.constant(way), way.kept)),
);

/** Makes the dataset and the prompt of a writer. */
export async function prepareOwn(url: string, own: string): Promise<void> {
  await ask(
    url,
    graphql(
      'mutation ($own: String!) { createDataset(input: { slug: $own, columns: [{ name: "a", type: TEXT }, { name: "b c", type: JSON }] }) { dataset { slug } } createPrompt(input: { slug: $own }) { prompt { slug } } }',
      { own },
    ),
  );
}

type Outcome = "kept" | "refused" | { fault: string };

const ATTEMPTS = 3;

/** Writes, reads, and says whether what was accepted came back as it was sent. */
export async function readBack(url: string, own: string, [way, kept]: [Way, Kept]): Promise<Outcome> {
  let outcome: Outcome = "refused";
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    outcome = await readOnce(url, own, [way, kept]);
    // Those who ask at the same time also prune traces, of any age.
    if (typeof outcome === "string" || !outcome.fault.includes("LOG_NOT_FOUND")) break;
  }
  return outcome;
}

async function readOnce(url: string, own: string, [way, kept]: [Way, Kept]): Promise<Outcome> {
  const written = await ask(url, way.write(kept, own));
  if (typeof written === "string") return { fault: written };
  if (written.isRefused) return "refused";
  const read = await ask(url, way.read(written.body, own));
  if (typeof read === "string") return { fault: read };
  if (read.isRefused) return { fault: `was accepted and cannot be read: ${JSON.stringify(read.body)}` };
  const found = way.found(read.body);
  const changed = Object.keys(kept).filter((key) => !isDeepStrictEqual(found[key], kept[key]));
  const removed = way.remove && (await ask(url, way.remove(written.body, read.body)));
  if (typeof removed === "string") return { fault: removed };
  if (changed.length === 0) return "kept";
  const shown = changed.map((key) => `${key}: ${inspect(kept[key])} came back as ${inspect(found[key])}`);
  return { fault: `is not read back as it was sent: ${shown.join("; ")}` };
}

async function ask(
  url: string,
  { path, body }: Request,
): Promise<{ body: Body; isRefused: boolean } | string> {
  const sent = {
    method: body ? "POST" : "GET",
    path,
    headers,
    body: body && Buffer.from(JSON.stringify(body)),
  };
  const answer = await exchange(url, sent);
  const fault = path.startsWith("/graphql") ? faultOfGraphql(answer) : faultOfRest(answer);
  if (fault) return fault;
  const received = JSON.parse(answer.body);
  return { body: received, isRefused: answer.status >= 400 || Boolean(received.errors) };
}

/** A value whose keys are names, as literals of GraphQL have them. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.values(value).map((member, at) => [`a${at}`, named(member)]));
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(" ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${name}: ${literal(member)}`)
    .join(" ")}}`;
}
