import { type Api, apis, type Count, roundsOf } from "./badInput/rounds.ts";
import { type How, prepareDatabase, startGateway } from "./gateway.ts";

/** Cases that are drawn from one seed, and so can be repeated by it alone. */
const ROUND = 250;
/** The same where a case takes longer: the server waits for the rest of what has no end, and what is kept is read back. */
const SHORT_ROUND = 50;
const RAW_SHARE = 0.05;
const sizes: Record<Api, number> = { rest: ROUND, graphql: ROUND, raw: SHORT_ROUND, kept: SHORT_ROUND };
const ASKING_AT_ONCE = 4;
const MAX_SHOWN_CHARACTERS = 5_000;

export interface BadInputResult extends Count {
  /** What was found, each with how to find it again. */
  faults: string[];
}

interface Wanted {
  /** How many cases each API gets. */
  cases: number;
  /** How many accepted values are read back, beside them. */
  kept: number;
  /** Rounds are drawn from these in turns, then from those after them. */
  seeds: number[];
  /** After how many faults it ends. */
  maxFaults?: number;
}

/** Sends a gateway what nobody should send, drawn from what it says of itself, and judges every answer. */
export async function sendBadInput(
  how: How,
  { cases, kept, seeds, maxFaults = 10 }: Wanted,
): Promise<BadInputResult> {
  await prepareDatabase(how.databaseUrl);
  const gateway = await startGateway(how);
  const result: BadInputResult = {
    cases: zeros(),
    accepted: { rest: 0, graphql: 0 },
    kept: 0,
    slowestMs: 0,
    faults: [],
  };
  const name = how.databaseUrl.startsWith("sqlite:") ? "bad-input" : "bad-input-on-postgresql";
  const begun = zeros();
  const isDone: Record<Api, () => boolean> = {
    rest: () => begun.rest * ROUND >= cases,
    graphql: () => begun.graphql * ROUND >= cases,
    raw: () => begun.raw * SHORT_ROUND >= 2 * cases * RAW_SHARE,
    kept: () => result.kept >= kept,
  };
  const endOnFailure = maxFaults === 1;
  const askAll = async (own: string) => {
    const rounds = await roundsOf(gateway.url, own, result);
    for (const api of apis) {
      while (!isDone[api]() && result.faults.length < maxFaults) {
        const n = begun[api]++;
        const seed = seeds[n % seeds.length]! + Math.floor(n / seeds.length);
        const fault = await rounds[api]({ seed, size: sizes[api], endOnFailure });
        if (fault) result.faults.push(`${api}: ${fault} (again: npm run faults -- ${name} ${ROUND} ${seed})`);
      }
    }
  };
  const greeting = gateway.said();
  try {
    await Promise.all(Array.from({ length: ASKING_AT_ONCE }, (_, n) => askAll(`own-${n}`)));
  } finally {
    await gateway.stop();
  }
  const logged = gateway.said().slice(greeting.length);
  if (logged !== "") result.faults.push(`logged: ${logged.slice(0, MAX_SHOWN_CHARACTERS)}`);
  return result;
}

const zeros = (): Record<Api, number> => ({ rest: 0, graphql: 0, raw: 0, kept: 0 });
