import { inspect } from "node:util";
import fc from "fast-check";
import { buildClientSchema, type GraphQLSchema, getIntrospectionQuery } from "graphql";
import { headers } from "../gateway.ts";
import { exchange, exchangeBytes, type Sent } from "./exchange.ts";
import { graphqlCase } from "./graphql.ts";
import { materials } from "./material.ts";
import type { Known } from "./plausible.ts";
import { type RawCase, rawCase } from "./raw.ts";
import { keptCases, prepareOwn, readBack } from "./readBack.ts";
import { operationsOf, type RestCase, restCase } from "./rest.ts";
import { answersIn, faultOfBytes, faultOfGraphql, faultOfRest } from "./verdict.ts";

export const doors = ["rest", "graphql", "raw", "kept"] as const;
export type Door = (typeof doors)[number];

/** Asks cases that are drawn from a seed until one is not answered as it should be: tells the smallest such found. */
export type Round = (drawn: { seed: number; size: number }) => Promise<string | undefined>;

export interface Count {
  /** How many cases each door had. */
  cases: Record<Door, number>;
  /** How many accepted values were read back. */
  kept: number;
  slowestMs: number;
}

/** What each door is asked by one of several that ask at once, each with things of its `own`. */
export async function roundsOf(url: string, own: string, count: Count): Promise<Record<Door, Round>> {
  const known: Known = { datasets: [`d-${own}`, "d-shared"], prompts: [`p-${own}`, "p-shared"], ids: [] };
  const operations = operationsOf((await call(url, "GET", "/openapi.json")) as never);
  const schema = await readSchema(url);
  await prepareOwn(url, own);
  const prepare = () => prepareKnown(url, known);
  const rest = roundOf({
    prepare,
    cases: materials.map((material) => restCase(material, operations, known)),
    judge: async (sent: RestCase) => {
      const answer = await exchange(url, sent);
      return faultOfRest(answer, sent.operation?.answers);
    },
    show: showSent,
  });
  const graphql = roundOf({
    prepare,
    cases: materials.map((material) => graphqlCase(material, schema, known)),
    judge: async (sent: Sent) => {
      const answer = await exchange(url, sent);
      return faultOfGraphql(answer);
    },
    show: showSent,
  });
  const raw = roundOf({
    prepare,
    cases: materials.map(rawCase),
    judge: async ({ pieces, isSmuggled }: RawCase) => {
      const received = await exchangeBytes(url, pieces);
      const isTaken = isSmuggled && answersIn(received).some(({ status }) => status < 400);
      return isTaken ? "is taken, though it has two ends" : faultOfBytes(received);
    },
    show: ({ pieces }) => inspect(Buffer.concat(pieces).toString("latin1").slice(0, LONGEST_SHOWN)),
  });
  const kept = roundOf({
    prepare: async () => {},
    cases: keptCases,
    judge: async (one) => {
      const outcome = await readBack(url, own, one);
      if (outcome === "kept") count.kept += 1;
      return typeof outcome === "object" ? outcome.fault : undefined;
    },
    show: ([{ kind }, one]) => `${kind}: ${inspect(one, { depth: 5 }).slice(0, LONGEST_SHOWN)}`,
  });
  return { rest: rest("rest"), graphql: graphql("graphql"), raw: raw("raw"), kept: kept("kept") };

  function roundOf<Case>({ prepare, cases, judge, show }: Asked<Case>) {
    return (door: Door): Round =>
      async ({ seed, size }) => {
        await prepare();
        let isFound = false;
        let left = MOST_ATTEMPTS_AT_LESS;
        const property = fc.asyncProperty(cases, async (one) => {
          if (isFound && left-- <= 0) return;
          const { fault, tookMs } = await watched(() => judge(one));
          if (!isFound) count.cases[door] += 1;
          count.slowestMs = Math.max(count.slowestMs, tookMs);
          isFound ||= fault !== undefined;
          if (fault) throw new Error(fault);
        });
        const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: size });
        if (!failed) return undefined;
        return `${show(counterexample![0])} ${(errorInstance as Error).message}`;
      };
  }
}

interface Asked<Case> {
  /** Brings what cases ask for into the database, as those before may have taken it away. */
  prepare(): Promise<void>;
  cases: fc.Arbitrary<Case>;
  /** Asks, and says what is wrong with the answer. */
  judge(one: Case): Promise<string | undefined>;
  show(one: Case): string;
}

/** How often fast-check may ask for less, once something was found. */
const MOST_ATTEMPTS_AT_LESS = 300;

const LONGEST_MS = 2_000;
const ATTEMPTS = 3;

/** What takes too long is asked again, as the machine may have been busy with something else. */
async function watched(
  judge: () => Promise<string | undefined>,
): Promise<{ fault?: string | undefined; tookMs: number }> {
  for (let attempt = 1; ; attempt++) {
    const begun = performance.now();
    const fault = await judge().catch((error: Error) => `has no answer: ${error.message}`);
    const tookMs = performance.now() - begun;
    if (fault || tookMs < LONGEST_MS) return { fault, tookMs };
    if (attempt === ATTEMPTS) return { fault: `is answered after ${Math.round(tookMs)} ms`, tookMs };
  }
}

const LONGEST_SHOWN = 2_000;

function showSent({ method, path, headers: all, body }: Sent): string {
  const { authorization, ...others } = all;
  const shown = { ...others, ...(authorization !== headers.authorization && { authorization }) };
  return `${method} ${path} ${JSON.stringify(shown)} ${inspect(body?.toString("utf8"), { maxStringLength: LONGEST_SHOWN })}`;
}

async function call(
  url: string,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, never>> {
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return (await answer.json()) as Record<string, never>;
}

async function readSchema(url: string): Promise<GraphQLSchema> {
  const { data } = await call(url, "POST", "/graphql", { query: getIntrospectionQuery() });
  return buildClientSchema(data!);
}

const PREPARE = `mutation ($p: String!, $d: String!) {
  deletePrompt(slug: $p)
  deleteDataset(slug: $d)
}`;
const MAKE = `mutation ($p: String!, $d: String!) {
  createPrompt(slug: $p) { slug }
  a: createPromptVersion(slug: $p, input: { version: "1.0.0", text: "Hello {{ a }}" }) { warning }
  b: createPromptVersion(slug: $p, input: { version: "2.0.0", text: "Hello {{ b }}", model: { model: "gpt-4o" } }) { warning }
  publishPrompt(slug: $p, newTag: "production", version: "1.0.0") { id }
  createDataset(slug: $d, columns: [{ name: "a", type: text }, { name: "b", type: json }]) { slug }
  addDatasetItem(slug: $d, input: { values: { a: "1" } }) { datasetRow { id } }
  logPrompt(input: { slug: $p, input: "Nairobi", output: "Nairobi" }) { log { id } trace { id } }
}`;

async function prepareKnown(url: string, known: Known): Promise<void> {
  known.ids = [];
  for (const [n, p] of known.prompts.entries()) {
    const variables = { p, d: known.datasets[n] };
    await call(url, "POST", "/graphql", { query: PREPARE, variables });
    const { data } = await call(url, "POST", "/graphql", { query: MAKE, variables });
    const text = JSON.stringify(data);
    known.ids.push(...Array.from(text.matchAll(/"id":"([\w-]+)"/g), ([, id]) => id!));
  }
}
