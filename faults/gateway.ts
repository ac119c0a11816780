import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import packageJson from "../package.json" with { type: "json" };
import { migrate } from "../src/database/migrate.ts";
import { openDatabase } from "../src/database/open.ts";
import { createDataset } from "../src/datasets/authoring.resolvers.ts";
import { entities } from "../src/entities.ts";
import { seedDatabase } from "../src/sample/seed.ts";
import { FIRST_WORKSPACE } from "../src/workspaces/firstWorkspace.ts";
import { commandLineContext, getWorkspaceId } from "../src/workspaces/resolvers.ts";

/** The token of every gateway under test. */
export const TOKEN = "a-token-for-fault-tests-only-0123456";
export const DATASET = "rows";

const gabbro = fileURLToPath(new URL("../bin/gabbro.js", import.meta.url));
/** Of Node.js, as `npm start` gives them. */
export const startFlags = packageJson.scripts.start.split(" ").filter((word) => word.startsWith("--"));

export interface How {
  databaseUrl: string;
  /** A module of faults/preloads that spoils the gateway before it starts, for a control that must fail. */
  preload?: string | undefined;
  env?: Record<string, string> | undefined;
  /** What to run in place of the program, for a control that must fail. */
  program?: string | undefined;
  /** A command with its arguments that runs the rest of the command line. */
  within?: string[];
}

/** Starts a gateway in a process of its own, on a free port, and waits until it serves. Throws when it ends before. */
export async function startGateway(how: How) {
  const { databaseUrl, preload, env = {}, program = gabbro, within = [] } = how;
  const begun = performance.now();
  const importing = preload
    ? ["--import", new URL(`preloads/${preload}.ts`, import.meta.url).href, "--no-warnings"]
    : [];
  const [command, ...args] = [
    ...within,
    process.execPath,
    ...startFlags,
    ...importing,
    program,
    "serve",
    "--empty",
  ];
  const child = spawn(command!, args, {
    env: {
      PATH: process.env.PATH,
      HOST: "127.0.0.1",
      PORT: "0",
      OTLP_GRPC_PORT: "off",
      DATABASE_URL: databaseUrl,
      GABBRO_TOKEN: TOKEN,
      DRAIN_SECONDS: "0",
      LOG_LEVEL: "error",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  child.stderr.on("data", (chunk) => (said += chunk));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal }));
  const address = /http:\/\/127\.0\.0\.1:\d+/;
  const isListening = async () => {
    while (!address.test(said)) await once(child.stdout, "data");
  };
  const outcome = await Promise.race([isListening(), ended]);
  if (outcome) throw new GatewayEndedError(outcome.code, said);
  const url = address.exec(said)![0];
  const ready = await fetch(`${url}/ready`);
  if (ready.status !== 200) throw new Error(`The gateway is not ready: ${ready.status}`);
  return {
    child,
    ended,
    url,
    readyMs: performance.now() - begun,
    /** All that it printed and logged. */
    said: () => said,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

export class GatewayEndedError extends Error {
  readonly code: number | null;
  constructor(code: number | null, said: string) {
    super(`The gateway ended (${code ?? "by a signal"}): ${said}`);
    this.code = code;
  }
}

export const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

/** Makes the database with the dataset that the writers add to. */
export async function prepareDatabase(
  databaseUrl: string,
  sample: "with sample" | "empty" = "empty",
): Promise<void> {
  const database = await openDatabase(databaseUrl, entities);
  try {
    await migrate(database);
    await seedDatabase(database, { firstToken: TOKEN, sample });
    const context = commandLineContext(database, await getWorkspaceId(database, FIRST_WORKSPACE));
    await createDataset(context, { slug: DATASET, columns: [{ name: "a", type: "text" }] });
  } finally {
    await database.close();
  }
}
