import type { OpenAPIV3_1 } from "openapi-types";
import type { Context } from "../../src/context.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { createPrompt, createPromptVersion } from "../../src/prompts/authoring.resolvers.ts";
import { FIRST_WORKSPACE } from "../../src/workspaces/firstWorkspace.ts";
import { commandLineContext, createWorkspace, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { createAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addFixtures, type Fixtures } from "../../test/support/fixtures.ts";
import { type How, prepareDatabase, startGateway } from "../gateway.ts";
import { startNeighbour } from "./neighbour.ts";
import { type Packets, sendPackets } from "./packets.ts";
import { type Answered, NoAnswerError, type Request, send } from "./requests.ts";

const METRICS_TOKEN = "a-token-for-metrics-only-0123456789";
/** All that reads more of a request. */
const env = {
  METRICS_TOKEN,
  CORS_ORIGIN: "https://a.example",
  TRUST_PROXY: "loopback",
  RATE_LIMIT_PER_TOKEN: "100000000",
  RATE_LIMIT_PER_ADDRESS: "100000000",
  NODE_OPTIONS: `--no-warnings --import=${new URL("../preloads/tellHeld.ts", import.meta.url).href}`,
};

export interface Cost {
  /** Processor time of the server, with that of the neighbour's few requests meanwhile. */
  cpuMs: number;
  /** The neighbour's longest wait. */
  waitMs: number;
  status: number;
  text: string;
}

/** A server in a process of its own with a neighbour who always asks, and fixtures of the workspace that is to grow. */
export async function serve(how: How, timeoutMs: number) {
  await prepareDatabase(how.databaseUrl);
  const { fixtures, token, path } = await addBoth(how.databaseUrl);
  const gateway = await startGateway({ ...how, env: { ...env, ...how.env } });
  const { url } = gateway;
  const neighbour = startNeighbour({ url, token, path });
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenAPIV3_1.Document;
  return {
    fixtures,
    document,
    neighbour,
    /** What one request costs, or packets of several connections. Throws NoAnswerError when it takes too long. */
    cost: async (asked: Request | Packets): Promise<Cost> => {
      const before = await cpuMs(url, timeoutMs);
      neighbour.longestMs();
      const answered = await sendAny(url, asked, timeoutMs);
      const after = await cpuMs(url, timeoutMs);
      return { ...answered, cpuMs: after - before, waitMs: neighbour.longestMs() };
    },
    /** The neighbour's longest wait while all of these are sent at once, each on a connection of its own. */
    waitBesideMs: async (asked: Request[]): Promise<number> => {
      neighbour.longestMs();
      await Promise.all(asked.map((one) => send(url, one, timeoutMs)));
      return neighbour.longestMs();
    },
    /** What is held once garbage is collected, in the heap and outside of it. */
    heldMb: async (): Promise<number> => {
      const asked = { method: "GET", path: "/held", headers: {}, body: null };
      return Number((await send(url, asked, timeoutMs)).text) / 1e6;
    },
    send: (asked: Request | Packets) => sendAny(url, asked, timeoutMs),
    stop: async () => {
      await neighbour.stop();
      await gateway.kill();
    },
  };
}

export type Served = Awaited<ReturnType<typeof serve>>;

const sendAny = (url: string, asked: Request | Packets, timeoutMs: number): Promise<Answered> =>
  "connections" in asked ? sendPackets(url, asked) : send(url, asked, timeoutMs);

async function cpuMs(url: string, timeoutMs: number): Promise<number> {
  const asked = {
    method: "GET",
    path: "/metrics",
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    body: null,
  };
  const { text } = await send(url, asked, timeoutMs);
  const seconds = /^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1];
  if (seconds === undefined) throw new NoAnswerError("no metrics");
  return Number(seconds) * 1_000;
}

async function addBoth(databaseUrl: string) {
  const database = await openDatabase(databaseUrl, entities);
  try {
    const own = await getWorkspaceId(database, FIRST_WORKSPACE);
    const fixtures = await addFixtures(database, own, { mark: "own", secret: "ours" });
    await addLarge(() => commandLineContext(database, own), fixtures);
    const other = await createWorkspace(database, "neighbour");
    const theirs = await addFixtures(database, other, { mark: "their", secret: "theirs" });
    const context = commandLineContext(database, other);
    const { token } = await createAccessToken(context, {
      name: "neighbour",
      scopes: ["read"],
      expiresAt: null,
    });
    return { fixtures, token, path: `/prompts/${theirs.prompt}` };
  } finally {
    await database.close();
  }
}

const LARGE = 1_000_000;

/** What searches look through, and what is compared: a text of a megabyte, and lines that differ. */
async function addLarge(context: () => Context, { prompt }: Fixtures): Promise<void> {
  await createPrompt(context(), { slug: "large", description: "a".repeat(LARGE) });
  for (const [version, mark] of [
    ["8.0.0", "one"],
    ["9.0.0", "other"],
  ] as const) {
    const text = Array.from({ length: 5_000 }, (_, n) => `${mark} ${n}`).join("\n");
    const input = { version, text, systemText: null, model: null, variables: null };
    await createPromptVersion(context(), { slug: prompt, input });
  }
}
