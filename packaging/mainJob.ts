import { strict as assert } from "node:assert";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const START_LIMIT_MS = 60_000;

/** A service that runs from a package: where it answers, and how it ends. */
export interface Running {
  url: string;
  /** What it has written to its output. */
  log: () => string;
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number | null>;
}

/** Starts `gabbro serve` of a package in a folder, on a free port, and waits until it answers `/ready`. */
export async function startPackage(
  node: string,
  program: string,
  options: { folder: string; token: string },
): Promise<Running> {
  const env = { PATH: process.env.PATH, HOST: "127.0.0.1", PORT: "0", DRAIN_SECONDS: "0" };
  const child = spawn(node, [program, "serve"], {
    cwd: options.folder,
    env: { ...env, GABBRO_TOKEN: options.token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const url = await findUrl(child, () => output);
  assert.equal((await fetch(`${url}/ready`)).status, 200, "GET /ready");
  const stop = async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "close");
    return child.exitCode;
  };
  return { url, log: () => output, stop };
}

/** The URL that the service prints once it is ready. */
async function findUrl(child: ChildProcess, output: () => string): Promise<string> {
  const limit = setTimeout(() => child.kill("SIGKILL"), START_LIMIT_MS);
  const url = () => /Playground +(http:\/\/[\d.:]+)\/graphql/.exec(output())?.[1];
  while (url() === undefined && child.exitCode === null && child.signalCode === null)
    await Promise.race([once(child.stdout!, "data"), once(child, "exit")]);
  clearTimeout(limit);
  const found = url();
  if (found === undefined) throw new Error(`The service did not start:\n${output()}`);
  return found;
}

type Query = (text: string) => Promise<Record<string, unknown>>;

/** Calls the REST API of a service; throws unless it succeeds. */
function callerOf(url: string, token: string) {
  return async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) };
    const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
    const answer = await fetch(`${url}${path}`, init);
    const text = await answer.text();
    assert.ok(answer.ok, `${path} was answered with ${answer.status}: ${text}`);
    return JSON.parse(text);
  };
}

/** Sends operations to the GraphQL API of a service; throws when one has errors. */
export function queryAt(url: string, token: string): Query {
  const call = callerOf(url, token);
  return async (text) => {
    const { data, errors } = await call("/graphql", { query: text });
    assert.equal(errors, undefined, `${text} has errors: ${JSON.stringify(errors)}`);
    return data;
  };
}

/** The rows of the sample's dataset. */
export async function countRows(query: Query): Promise<number> {
  const { dataset } = await query('{ dataset(slug: "country-quiz") { rowCount } }');
  return (dataset as { rowCount: number }).rowCount;
}

const QUESTION = "What is the capital of Kenya?";
const RENDER = `{ renderPrompt(slug: "country-guide", variables: [
  { label: "country", value: "Kenya" }, { label: "question", value: "${QUESTION}" }
]) { text } }`;
const FIND = '{ logs(first: 1, filter: { text: "capital" }) { nodes { output } } }';

/** Does what applications do, by both APIs, and reads it again. Throws at the first answer that is wrong. */
export async function doMainJob(url: string, token: string): Promise<void> {
  const call = callerOf(url, token);
  const query = queryAt(url, token);
  const before = await countRows(query);
  const row = { values: { question: "Which country has Nairobi as its capital?" }, idealOutput: "Kenya" };
  await call("/datasets/country-quiz/items", row);
  assert.equal(await countRows(query), before + 1, "the rows after one is added");
  const { prompt } = await call("/prompts/country-guide?tag=production");
  assert.match(prompt.text, /\{\{question\}\}/, "the text of the prompt");
  const { renderPrompt } = (await query(RENDER)) as { renderPrompt: { text: string } };
  assert.ok(renderPrompt.text.includes(QUESTION), "the rendered prompt has the question");
  await call("/monitor/log", { slug: "country-guide", input: QUESTION, output: "Nairobi." });
  const { logs } = (await query(FIND)) as { logs: { nodes: { output: string }[] } };
  assert.deepEqual(logs.nodes, [{ output: "Nairobi." }], "the newest log with the word capital");
  for (const path of ["/docs", "/graphql/assets/graphiql.js", "/openapi.json", "/console"])
    assert.equal((await fetch(`${url}${path}`, { headers: { accept: "text/html, */*" } })).status, 200, path);
}
