import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { FastifyServerOptions } from "fastify";
import { GraphQLError } from "graphql";
import pino from "pino";
import { createApp } from "../../app.ts";
import type { Config } from "../../config.ts";
import { createSignInLink } from "../../console/links.resolvers.ts";
import { bringUpToDate } from "../../database/migrate.ts";
import { openDatabase } from "../../database/open.ts";
import { entities } from "../../entities.ts";
import { GabbroError } from "../../errors.ts";
import { causeOf } from "../../graphql/errors.ts";
import type { App } from "../../http/app.ts";
import { createListen } from "../../http/server.ts";
import { addSampleMonth } from "../../sample/month.ts";
import { seedDatabase } from "../../sample/seed.ts";
import { warmTokenizer } from "../../usage/tokens.ts";
import { contextWithoutToken } from "../../workspaces/resolvers.ts";
import { deliverFirstToken } from "./firstToken.ts";
import { addressesOf, cannotListen, urlOf } from "./listening.ts";
import { welcome, welcomeBack } from "./welcome.ts";

const PARENT_CHECK_MS = 250;
const LAST_LINES_MS = 1_000;
/** Within this time a signal may come twice: from the terminal, and from the older Node.js that runs this one. */
const REPEATED_MS = 1_000;
/** Writes several lines at once: each write is a system call. Drops lines when nobody reads them. */
const BUFFERED = { sync: false, minLength: 8_192, periodicFlush: 100, maxLength: 16_777_216 };

/**
 * Runs the service until SIGTERM or SIGINT: opens and migrates the database, fills a new one, listens, and prints
 * how to use it.
 */
export async function serve(config: Config, sample: "with sample" | "empty"): Promise<void> {
  process.stdout.on("error", () => {}); // nobody reads the output any more: go on serving
  const database = await openDatabase(config.databaseUrl, entities, config);
  const backup = await bringUpToDate(database, config);
  const options = { ...config, buildsConsole: !config.isRunByDev };
  const app = await createApp(database, options, await loggerOptions(config.logLevel));
  // Node.js would end the process, for everybody, where one request forgot that a promise may fail.
  process.on("unhandledRejection", (error) => {
    // graphql-js waits for the entries of a long list once it has all of them, and answers with their errors.
    if (error instanceof GraphQLError && causeOf(error) instanceof GabbroError) return;
    app.log.error(error, "a promise failed that nothing waits for");
  });
  if (backup) app.log.info({ backup }, "copied the database there before migrating it");
  if (database.dialect.isWorldReadable?.())
    app.log.warn(
      { file: database.dialect.place },
      "every user of this machine can read the database: restrict it, such as with chmod 640",
    );
  const hasConsole = app.hasRoute({ method: "GET", url: "/console" }); // it may not be built
  const reportFailure = (error: unknown) => app.log.warn(error, "cannot add the traces of the sample");
  const seeded = await seedDatabase(database, { ...config, sample, reportFailure });
  const token = seeded?.token;
  const delivery = token ? await deliverFirstToken(token, config, app.log) : null;
  let code: string | null = null;
  let isStarted = false;
  try {
    // On a terminal alone: other output ends up in logs, which other people read.
    if (token && hasConsole && process.stdout.isTTY) code = await createSignInLink(database, token);
    isStarted = await start(app, config);
  } finally {
    // The first token is shown only once, so it must be shown even if the start fails.
    if (delivery && !isStarted) print(`Access token of the new database: ${delivery.label}`);
  }
  if (!isStarted) return;
  const url = urlOf(config, (app.server.address() as AddressInfo).port);
  void warmTokenizer().catch((error) => app.log.warn(error, "cannot load the tokenizer before it is needed"));
  if (seeded?.hasSample) {
    // In the background: its 1,200 logs take longer than the start.
    const context = contextWithoutToken(database, seeded.workspaceId, "sample");
    database.track(addSampleMonth(context, Date.now()).catch(reportFailure));
  }
  const shown = { ...config, console: hasConsole };
  print(delivery ? welcome(url, shown, { token: delivery, sample, code }) : welcomeBack(url, shown));
}

/** Listens for requests; returns false when a signal stops the service meanwhile. */
async function start(app: App, config: Config): Promise<boolean> {
  const listen = createListen(app);
  stopOnSignals(app, config);
  await app.ready();
  try {
    const addresses = await addressesOf(config.host);
    if (app.isStopping()) return false;
    await listen(addresses, config.port);
    if (!app.isStopping()) await receiveGrpc(app, addresses, config.otlpGrpcPort);
  } catch (error) {
    if (!app.isStopping()) throw cannotListen(error as NodeJS.ErrnoException, config);
  }
  return !app.isStopping();
}

/** Without gRPC the rest still serves, so a port that is taken does not end the start. */
async function receiveGrpc(app: App, addresses: string[], otlpGrpcPort: number | null): Promise<void> {
  if (otlpGrpcPort === null) return;
  try {
    const port = await app.listenForGrpc(addresses, otlpGrpcPort);
    app.log.info({ port }, "receives OpenTelemetry by gRPC");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    app.log.warn({ port: otlpGrpcPort, code }, CANNOT_RECEIVE_GRPC);
  }
}

const CANNOT_RECEIVE_GRPC =
  "cannot receive OpenTelemetry by gRPC at this port: stop what listens there, or set OTLP_GRPC_PORT to a free port, or to off";

async function loggerOptions(level: string): Promise<FastifyServerOptions["logger"]> {
  if (!process.stdout.isTTY) return { level, stream: pino.destination(BUFFERED) };
  const { default: pretty } = await import("pino-pretty");
  return {
    level,
    stream: pretty({ ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l", singleLine: true, sync: true }),
  };
}

/** `close-with-grace` 2.5 ends the process by `exit`, which loses the lines that are not written yet, and does not watch npm. */
function stopOnSignals(app: App, { drainMs, isRunByNpm }: Config): void {
  const drain = new AbortController();
  const stop = async (reason: string) => {
    if (app.isStopping()) return;
    app.log.info({ reason }, "stopping: requests in flight finish first");
    await app.drain(drainMs, drain.signal);
    await app.close();
    await writeLastLines(app);
  };
  const stopWithoutDrain = (reason: string) => {
    drain.abort();
    void stop(reason);
  };
  const interrupt = (signal: string) => {
    stopWithoutDrain(signal); // a person waits
    setTimeout(() => process.off("SIGINT", interrupt), REPEATED_MS).unref(); // the next one ends the process at once
  };
  process.on("SIGTERM", (signal) => void stop(signal));
  process.on("SIGINT", interrupt);
  // npm passes a signal on to its shell only, and the shell ends without passing it on to us.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (!isRunByNpm || process.ppid === parent) return;
    clearInterval(watch);
    stopWithoutDrain("npm ended");
  }, PARENT_CHECK_MS).unref();
}

/** Flushes the log for a limited time: at exit pino would try forever to write to an output that nobody reads. */
async function writeLastLines({ log }: App): Promise<void> {
  await Promise.race([
    new Promise<unknown>((resolve) => (log as pino.Logger).flush(resolve)),
    wait(LAST_LINES_MS, undefined, { ref: false }),
  ]);
}

function print(words: string): void {
  process.stdout.write(`${words}\n`);
}
