import { lookup } from "node:dns/promises";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { FastifyServerOptions } from "fastify";
import pino from "pino";
import { createApp } from "../app.ts";
import type { Config } from "../config.ts";
import { bringUpToDate } from "../database/migrate.ts";
import { openDatabase } from "../database/open.ts";
import type { App } from "../http/app.ts";
import { createListen } from "../http/server.ts";
import { seedDatabase } from "../sample/seed.ts";

const PARENT_CHECK_MS = 250;
const LAST_LINES_MS = 1_000;
/** Lines are written some at a time: one by one they cost a request a system call. Who does not read them loses some. */
const GATHERED = { sync: false, minLength: 8_192, periodicFlush: 100, maxLength: 16_777_216 };

/**
 * Runs the service until SIGTERM or SIGINT: opens and migrates the database, fills a new one, listens, and says on
 * standard output how to use it.
 */
export async function serve(config: Config, sample: "with sample" | "empty"): Promise<void> {
  process.stdout.on("error", () => {}); // nobody reads it any more, which is no reason to stop serving
  const database = await openDatabase(config.databaseUrl, config);
  await bringUpToDate(database, config);
  const app = await createApp(database, config, await loggerOptions(config.logLevel));
  if (database.dialect.isWorldReadable?.())
    app.log.warn(
      { file: database.dialect.place },
      "every user of this machine can read the database: restrict it, such as with chmod 640",
    );
  const token = await seedDatabase(database, { ...config, sample });
  const listen = createListen(app);
  stopOnSignals(app, config);
  await app.ready();
  try {
    await listen(await addressesOf(config.host), config.port);
  } catch (error) {
    // The first token is shown only once, so it must be shown even if the port is taken.
    if (token && !config.firstToken)
      print(`The access token of the new database: ${token}   (shown only now; keep it)`);
    throw error;
  }
  const address = addressOf(config, (app.server.address() as AddressInfo).port);
  print(token ? firstWords(address, token, config, sample) : laterWords(address, config));
}

async function loggerOptions(level: string): Promise<FastifyServerOptions["logger"]> {
  if (!process.stdout.isTTY) return { level, stream: pino.destination(GATHERED) };
  const { default: pretty } = await import("pino-pretty");
  return {
    level,
    stream: pretty({ ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l", singleLine: true, sync: true }),
  };
}

function stopOnSignals(app: App, { drainMs, isRunByNpm }: Config): void {
  const stop = async (reason: string, drainForMs: number) => {
    clearInterval(watch);
    app.log.info({ reason }, "stopping: requests in flight finish first");
    await app.drain(drainForMs);
    await app.close();
    await writeLastLines(app);
  };
  process.once("SIGTERM", (signal) => void stop(signal, drainMs));
  process.once("SIGINT", (signal) => void stop(signal, 0)); // a person waits
  // npm passes a signal on to the shell that it starts scripts with, and the shell dies of it without a word to us.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (isRunByNpm && process.ppid !== parent) void stop("npm ended", 0);
  }, PARENT_CHECK_MS).unref();
}

/**
 * What is still gathered at the exit would be written by pino at any price: without anybody to read it, it would try for
 * ever.
 */
async function writeLastLines({ log }: App): Promise<void> {
  await Promise.race([
    new Promise<unknown>((resolve) => (log as pino.Logger).flush(resolve)),
    wait(LAST_LINES_MS, undefined, { ref: false }),
  ]);
}

async function addressesOf(host: string): Promise<string[]> {
  if (host !== "localhost") return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function addressOf({ host }: Config, port: number): string {
  const isAnyAddress = host === "0.0.0.0" || host === "::";
  return `http://${isAnyAddress ? "localhost" : host.includes(":") ? `[${host}]` : host}:${port}`;
}

function laterWords(address: string, config: Config): string {
  return `
Gabbro is ready.${pages(address, config)}
  Another access token: npx gabbro token create --name NAME
`;
}

function pages(address: string, { playground }: Config): string {
  return playground
    ? `
  Playground     ${address}/graphql
  REST           ${address}/docs`
    : "";
}

function firstWords(address: string, token: string, config: Config, sample: string): string {
  const { firstToken } = config;
  const shown = firstToken ? "the one in GABBRO_TOKEN" : `${token}   (shown only now; keep it)`;
  const usable = firstToken ? "$GABBRO_TOKEN" : token;
  const next =
    sample === "empty"
      ? "Add the sample with: npx gabbro sample"
      : `Try it:\n${curlLines(address, usable).join("\n")}`;
  return `
Gabbro is ready, on a new database.${pages(address, config)}
  Access token   ${shown}

${next}
`;
}

/** One line for each operation, to be copied as it is. */
function curlLines(address: string, token: string): string[] {
  const curl = `curl -s -H "Authorization: Bearer ${token}"`;
  const post = `${curl} -H "Content-Type: application/json"`;
  const row = { values: { question: "Which country has Nairobi as its capital?" }, idealOutput: "Kenya" };
  const record = {
    slug: "country-guide",
    input: "What is the capital of Kenya?",
    output: "Nairobi is the capital of Kenya.",
  };
  return [
    `${curl} "${address}/datasets/country-quiz"`,
    `${post} -d '${JSON.stringify(row)}' "${address}/datasets/country-quiz/items"`,
    `${curl} "${address}/prompts/country-guide/describe?tag=staging"`,
    `${post} -d '${JSON.stringify(record)}' "${address}/monitor/log"`,
  ];
}

function print(words: string): void {
  process.stdout.write(`${words}\n`);
}
