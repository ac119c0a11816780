import { MAKE_TOKEN } from "../../analytics/advice.ts";
import type { Finding } from "../../analytics/checkup.resolvers.ts";
import type { Config } from "../../config.ts";
import { urlOf } from "../service/listening.ts";

const TIMEOUT_MS = 3_000;
const READY = JSON.stringify({ status: "ok" });
const MAX_SHOWN_CHARACTERS = 200;

export const invalidTokens = `Some client has no token, or one that is unknown, expired or mistyped: compare it with gabbro token list, or make one: ${MAKE_TOKEN}`;
const notRunning =
  "Start it with gabbro serve. If it listens elsewhere, give this command its HOST, PORT and DATABASE_URL.";
const notReady =
  "Look at the log of the service. If this is no answer of Gabbro, something else has its port: set another PORT.";

export interface ServiceCheck {
  url: string;
  status: "ready" | "not ready" | "not running";
  /**
   * Requests that sent data without a valid token since it started; null where there are no metrics. It is no finding, as it
   * never falls again.
   */
  unauthenticated: number | null;
  findings: Finding[];
}

/** Asks the service at the address of the configuration how it is. It need not be running. */
export async function checkService(config: Config): Promise<ServiceCheck> {
  const url = urlOf(config, config.port);
  const found = (problem: string, advice: string): Finding[] => [{ problem, advice }];
  const answer = await ask(`${url}/ready`).catch((error: Error) => ({ error }));
  if ("error" in answer) {
    const findings = found(`Nothing answers at ${url}: ${reasonOf(answer.error)}`, notRunning);
    return { url, status: "not running", unauthenticated: null, findings };
  }
  if (answer.status !== 200 || answer.text !== READY) {
    const findings = found(`${url} is not ready: ${answer.text.slice(0, MAX_SHOWN_CHARACTERS)}`, notReady);
    return { url, status: "not ready", unauthenticated: null, findings };
  }
  if (config.metricsToken === null) return { url, status: "ready", unauthenticated: null, findings: [] };
  try {
    const unauthenticated = await countRefused(url, config.metricsToken);
    return { url, status: "ready", unauthenticated, findings: [] };
  } catch (error) {
    const findings = found(`${url}/metrics cannot be read: ${reasonOf(error as Error)}`, notReady);
    return { url, status: "ready", unauthenticated: null, findings };
  }
}

const reasonOf = (error: Error) => ((error.cause as Error | undefined) ?? error).message;

async function ask(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  return { status: response.status, text: await response.text() };
}

/** Null when the service has another token for its metrics, or none. */
async function countRefused(url: string, token: string): Promise<number | null> {
  const { status, text } = await ask(`${url}/metrics`, { authorization: `Bearer ${token}` });
  if (status !== 200) return null;
  const lines = text.split("\n").filter((line) => line.startsWith("gabbro_rejected_total{"));
  return lines
    .filter((line) => line.includes('code="UNAUTHENTICATED"'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
