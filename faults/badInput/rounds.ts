import { inspect } from "node:util";
import fc from "fast-check";
import { headers } from "../gateway.ts";
import { exchange, exchangeBytes, type Sent } from "./exchange.ts";
import { graphqlCase } from "./graphql.ts";
import { prepareKnown, readInterface } from "./known.ts";
import { type Material, materials } from "./material.ts";
import type { Known } from "./plausible.ts";
import { type RawCase, rawCase } from "./raw.ts";
import { keptCases, prepareOwn, readBack } from "./readBack.ts";
import { type RestCase, restCase } from "./rest.ts";
import { answersIn, faultOfBytes, faultOfGraphql, faultOfRest, isAccepted } from "./verdict.ts";

export const apis = ["rest", "graphql", "raw", "kept"] as const;
export type Api = (typeof apis)[number];

export interface Count {
  /** How many cases each API had. */
  cases: Record<Api, number>;
  /** How many requests were answered without an error, as not everything that is sent is wrong. */
  accepted: { rest: number; graphql: number };
  /** How many accepted values were read back. */
  kept: number;
  slowestMs: number;
}

/**
 * Asks cases that are drawn from a seed until one is not answered as it should be, and returns that one; the smallest such
 * that is found, unless it `endOnFailure`.
 */
export type Round = (drawn: {
  seed: number;
  size: number;
  endOnFailure: boolean;
}) => Promise<string | undefined>;

/** What each API is asked by one of several that ask at once, each with things of its `own`. */
export async function roundsOf(url: string, own: string, count: Count): Promise<Record<Api, Round>> {
  const known: Known = { slugs: [`known-${own}`, "shared"], ids: [] };
  const { operations, schema } = await readInterface(url);
  await prepareOwn(url, own);
  const prepare = () => prepareKnown(url, known);
  const drawn = <Case>(draw: (material: Material) => Case) => materials.map(draw);
  return {
    rest: roundOf<RestCase>("rest", count, {
      prepare,
      cases: drawn((material) => restCase(material, operations, known)),
      judge: async (sent) => {
        const answer = await exchange(url, sent);
        if (isAccepted(answer)) count.accepted.rest += 1;
        return faultOfRest(answer, sent.operation?.answers);
      },
      show: showSent,
    }),
    graphql: roundOf<Sent>("graphql", count, {
      prepare,
      cases: drawn((material) => graphqlCase(material, schema, known)),
      judge: async (sent) => {
        const answer = await exchange(url, sent);
        if (isAccepted(answer)) count.accepted.graphql += 1;
        return faultOfGraphql(answer);
      },
      show: showSent,
    }),
    raw: roundOf<RawCase>("raw", count, {
      prepare,
      cases: drawn(rawCase),
      judge: async ({ pieces, isSmuggled }) => {
        const received = await exchangeBytes(url, pieces);
        const isTaken = isSmuggled && answersIn(received).some(({ status }) => status < 400);
        return isTaken ? "is taken, though it has two ends" : faultOfBytes(received);
      },
      show: ({ pieces }) => inspect(Buffer.concat(pieces).toString("latin1").slice(0, MAX_SHOWN_CHARACTERS)),
    }),
    kept: roundOf("kept", count, {
      prepare: async () => {},
      cases: keptCases,
      judge: async (one) => {
        const outcome = await readBack(url, own, one);
        if (outcome === "kept") count.kept += 1;
        return typeof outcome === "object" ? outcome.fault : undefined;
      },
      show: ([{ kind }, one]) => `${kind}: ${inspect(one, { depth: 5 }).slice(0, MAX_SHOWN_CHARACTERS)}`,
    }),
  };
}

interface Asked<Case> {
  prepare(): Promise<void>;
  cases: fc.Arbitrary<Case>;
  /** Asks, and says what is wrong with the answer. */
  judge(one: Case): Promise<string | undefined>;
  show(one: Case): string;
}

/** How long fast-check may ask for less, once something was found: what is slow is asked three times each time. */
const LESS_MS = 30_000;

function roundOf<Case>(api: Api, count: Count, { prepare, cases, judge, show }: Asked<Case>): Round {
  return async ({ seed, size, endOnFailure }) => {
    await prepare();
    let isFound = false;
    let until = Number.POSITIVE_INFINITY;
    const property = fc.asyncProperty(cases, async (one) => {
      if (performance.now() > until) return;
      if (!isFound) count.cases[api] += 1;
      const { fault, tookMs } = await watched(() => judge(one));
      count.slowestMs = Math.max(count.slowestMs, tookMs);
      if (fault && !isFound) until = performance.now() + LESS_MS;
      isFound ||= fault !== undefined;
      if (fault) throw new Error(fault);
    });
    const { failed, counterexample, errorInstance } = await fc.check(property, {
      seed,
      numRuns: size,
      endOnFailure,
    });
    return failed ? `${show(counterexample![0])} ${(errorInstance as Error).message}` : undefined;
  };
}

const MAX_ANSWER_MS = 2_000;
const ATTEMPTS = 3;

/** What takes too long is asked again, as the machine may have been busy with something else. */
async function watched(
  judge: () => Promise<string | undefined>,
): Promise<{ fault: string | undefined; tookMs: number }> {
  for (let attempt = 1; ; attempt++) {
    const begun = performance.now();
    const fault = await judge().catch((error: Error) => `has no answer: ${error.message}`);
    const tookMs = performance.now() - begun;
    if (fault || tookMs < MAX_ANSWER_MS) return { fault, tookMs };
    if (attempt === ATTEMPTS) return { fault: `is answered after ${Math.round(tookMs)} ms`, tookMs };
  }
}

const MAX_SHOWN_CHARACTERS = 2_000;

function showSent({ method, path, headers: all, body }: Sent): string {
  const { authorization, ...others } = all;
  const shown = { ...others, ...(authorization !== headers.authorization && { authorization }) };
  const text = inspect(body?.toString("utf8"), { maxStringLength: MAX_SHOWN_CHARACTERS });
  return `${method} ${path.slice(0, MAX_SHOWN_CHARACTERS)} ${JSON.stringify(shown)} ${text}`;
}
