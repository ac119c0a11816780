import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };
import { differenceOf, isTextLike } from "./answers.ts";
import { program } from "./program.ts";
import type { Snippet } from "./snippets.ts";

/** Where the pages say that the service is. */
const DOCUMENTED_ADDRESS = "localhost:3001";
/** Where they say that a PostgreSQL database is. */
const DOCUMENTED_DATABASE = "postgresql://gabbro@db.example.com/gabbro";
/**
 * Languages of blocks that are only shown: what npm, a proxy or another machine would have to do, pictures, programs with
 * packages that this repository does not have, and modules, which a test of their own runs.
 */
export const SHOWN = ["text", "nginx", "ini", "yaml", "mermaid", "python", "ts", "mjs"];
const FIRST_TOKEN = "the-first-token-of-a-reader-0123456789";
const SNIPPET_TIMEOUT_MS = 60_000;

/** What a snippet gave, for the block after it that shows it. */
interface Result {
  text: string;
  isError: boolean;
}

/** Whether a snippet is only for readers who have a PostgreSQL database. */
export const needsPostgresql = ({ language, text }: Snippet) =>
  !SHOWN.includes(language) && text.includes(DOCUMENTED_DATABASE);

/**
 * Somebody who has followed `npm ci` and `npm start` and now copies every snippet of some pages, one after the other; with
 * the URL of a PostgreSQL database, those that need one, too.
 */
export async function openReader({ postgresqlUrl }: { postgresqlUrl?: string } = {}) {
  const home = await mkdtemp(join(tmpdir(), "gabbro-docs-"));
  const folder = join(home, "gabbro");
  await mkdir(folder);
  const service = await startService(folder);
  const shell = await openShell(home, folder);
  const events: Promise<void>[] = [];
  const toActual = (text: string) =>
    text
      .replaceAll(DOCUMENTED_ADDRESS, new URL(service.url).host)
      .replaceAll(DOCUMENTED_DATABASE, () => postgresqlUrl ?? DOCUMENTED_DATABASE);

  const run = async ({ page, line, language, text }: Snippet): Promise<Result | null> => {
    const actual = toActual(text);
    if (language === "sh") return shell(actual);
    if (language === "js") return shell(`node --input-type=module -e '${actual.replaceAll("'", "'\\''")}'`);
    if (language !== "graphql") throw new Error(`nothing runs the language ${JSON.stringify(language)}`);
    if (!/^subscription\b/.test(actual)) return execute(service.url, actual);
    const { listening, event } = subscribe(service.url, actual);
    const placed = at({ page, line }, event);
    placed.catch(() => {}); // it is looked at when the page ends
    events.push(placed);
    await listening;
    return null;
  };

  /** Copies the snippets in order; throws at the first that fails or gives something else than its page shows. */
  const follow = async (snippets: Snippet[]): Promise<void> => {
    let last: Result | null = null;
    const copy = async (snippet: Snippet, next: Snippet | undefined) => {
      if (isAnswer(snippet)) return compare(snippet, last);
      last = await run(snippet);
      if (last?.isError && !showsError(next)) throw new Error(last.text);
    };
    for (const [n, snippet] of snippets.entries()) {
      const isForOthers = needsPostgresql(snippet) && postgresqlUrl === undefined;
      if (!SHOWN.includes(snippet.language) && !isForOthers)
        await at(snippet, copy(snippet, snippets[n + 1]));
    }
    await Promise.all(events.splice(0));
  };

  return {
    follow,
    async [Symbol.asyncDispose]() {
      await service.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Has an error name the snippet that it comes from. */
async function at({ page, line }: Pick<Snippet, "page" | "line">, work: Promise<void>): Promise<void> {
  await work.catch((cause: Error) => {
    throw new Error(`${page}:${line}: ${cause.message}`, { cause });
  });
}

const isAnswer = ({ language }: Snippet) => language === "json" || language === "output";

function showsError(next: Snippet | undefined): boolean {
  return next?.language === "json" && /^\{\s*"errors?":/.test(next.text);
}

function compare({ language, text }: Snippet, last: Result | null): void {
  if (!last) throw new Error("it shows what nothing before it gave");
  if (language === "output") {
    if (!isTextLike(text, last.text)) throw new Error(`it was answered otherwise:\n${last.text}`);
    return;
  }
  const difference = differenceOf(JSON.parse(text), JSON.parse(last.text));
  if (difference) throw new Error(difference);
}

/** Runs what `npm start` runs, in a folder of its own, and waits until it serves. */
async function startService(folder: string) {
  const [node, ...args] = packageJson.scripts.start
    .split(" ")
    .map((word) => (word === "bin/gabbro.js" ? program : word));
  if (node !== "node") throw new Error(`npm start runs ${node}`);
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOST: "127.0.0.1",
      PORT: "0",
      OTLP_GRPC_PORT: "off",
      GABBRO_TOKEN: FIRST_TOKEN,
      LOG_LEVEL: "error",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  while (!said.includes("Gabbro is ready"))
    await Promise.race([once(child.stdout, "data"), ended.then(endedEarly)]);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0];
  return {
    url,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function endedEarly(): never {
  throw new Error("the service ended before it was ready");
}

const standInForCurl = fileURLToPath(new URL("./curl.ts", import.meta.url));
const hasCurl = () => spawnSync("curl", ["--version"]).error === undefined;

/** A shell in which what one snippet exports is there for the next; a failing command or an unset variable ends a snippet. */
async function openShell(home: string, folder: string) {
  await writeFile(join(home, ".curlrc"), "fail-with-body\nsilent\n");
  await mkdir(join(home, "bin"));
  const command = (name: string, text: string) =>
    writeFile(join(home, "bin", name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  await command("npx", `[ "$1" = gabbro ] || exit 127\nshift\nexec node '${program}' "$@"`);
  if (!hasCurl()) await command("curl", `exec node --no-warnings '${standInForCurl}' "$@"`);
  const path = [join(home, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter);
  const exported = join(home, "exported");
  await writeFile(exported, "");
  return (text: string): Promise<Result> => {
    const script = `set -eu\n. '${exported}'\nexec 2>&1\n${text}\nexport -p > '${exported}'\n`;
    const options = { cwd: folder, env: { PATH: path, HOME: home }, timeout: SNIPPET_TIMEOUT_MS };
    return new Promise((resolve) => {
      execFile("sh", ["-c", script], options, (error, stdout) =>
        resolve({ text: stdout, isError: error !== null }),
      );
    });
  };
}

const headers = { authorization: `Bearer ${FIRST_TOKEN}`, "content-type": "application/json" };

async function execute(url: string, query: string): Promise<Result> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers,
    body: JSON.stringify({ query }),
  });
  const text = await response.text();
  return { text, isError: "errors" in JSON.parse(text) };
}

/** Listens until its first event, which something later on the page has to cause. */
function subscribe(url: string, query: string) {
  const response = fetch(`${url}/graphql`, {
    method: "POST",
    headers: { ...headers, accept: "text/event-stream" },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(SNIPPET_TIMEOUT_MS),
  });
  const readEvent = async () => {
    const { body } = await response;
    let received = "";
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
      received += chunk;
      const data = /^data: (\{.*\})$/m.exec(received)?.[1];
      if (!data) continue;
      if ("errors" in JSON.parse(data)) throw new Error(data);
      return;
    }
    throw new Error("the subscription ended without an event");
  };
  return { listening: response, event: readEvent() };
}
