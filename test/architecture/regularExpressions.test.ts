import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { check } from "recheck";
import { describe, expect, test } from "vitest";
import { parseAst } from "vitest/node";
import { readSources } from "../support/sources.ts";

interface Node {
  type?: string;
  regex?: { pattern: string; flags: string };
  callee?: Node & { name?: string };
  arguments?: (Node & { value?: unknown })[];
}

/** Every regular expression in TypeScript: literals, and texts that are given to `RegExp`. */
function expressionsIn(text: string): { pattern: string; flags: string }[] {
  const found: { pattern: string; flags: string }[] = [];
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { type, regex, callee, arguments: given = [] } = part as Node;
    if (type === "Literal" && regex) found.push(regex);
    const [pattern, flags] = given.map(({ value }) => value);
    if (callee?.name === "RegExp" && typeof pattern === "string")
      found.push({ pattern, flags: typeof flags === "string" ? flags : "" });
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(parseAst(text, { lang: "ts" }));
  return found;
}

/** Limits of time are off, as what they cut short is judged by the load of the machine; those of characters stay. */
const LIMITS = { timeout: 60_000, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

/** The expressions of a text whose time grows faster than the length of what they look at. */
async function superLinearIn(text: string): Promise<string[]> {
  const judged = await Promise.all(
    expressionsIn(text).map(async ({ pattern, flags }) => {
      const found = await check(pattern, flags, LIMITS);
      if (found.status === "safe") return [];
      const reason = found.status === "vulnerable" ? found.complexity.summary : found.status;
      return [`/${pattern}/${flags} is ${reason}`];
    }),
  );
  return judged.flat();
}

test("every regular expression of the sources takes linear time", {
  tags: "slow",
  timeout: 240_000,
}, async () => {
  const folder = fileURLToPath(new URL("../../src", import.meta.url));
  let count = 0;
  for (const { path } of await readSources(folder)) {
    const text = await readFile(`${folder}/${path}`, "utf8");
    count += expressionsIn(text).length;
    expect([path, await superLinearIn(text)]).toEqual([path, []]);
  }
  expect(count).toBeGreaterThan(50);
});

describe("a regular expression is found that is", () => {
  test.each([
    ["quadratic", String.raw`const tail = (text: string) => text.replace(/(T.*[+-]\d\d)(\d\d)$/, "$1:$2");`],
    [
      "quadratic behind a fixed beginning",
      "const cut = (text: string) => /(cannot be [^:]*): .*$/s.test(text);",
    ],
    ["exponential", 'const isSome = (text: string) => new RegExp("^(?:a+)+$").test(text);'],
  ])("%s in the length of its text", { timeout: 120_000 }, async (_, text) => {
    expect(await superLinearIn(text)).toEqual([expect.stringMatching(/polynomial|exponential/)]);
  });
});
