import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { check } from "recheck";
import { describe, expect, test } from "vitest";
import { parseAst } from "vitest/node";

interface Node {
  type?: string;
  name?: string;
  regex?: Expression;
  id?: Node;
  init?: Node | null;
  callee?: Node;
  arguments?: (Node & { value?: unknown })[];
  declaration?: (Node & { declarations?: Node[] }) | null;
}

interface Expression {
  pattern: string;
  flags: string;
}

type Language = "js" | "jsx" | "ts" | "tsx";

/** Text that is given to `RegExp` as it stands; undefined for all that has to be put together first. */
function literalIn({ callee, arguments: given = [] }: Node): Expression | undefined {
  const texts = given.map(({ value }) => value).filter((value) => typeof value === "string");
  const [pattern, flags = ""] = texts;
  if (callee?.name !== "RegExp" || pattern === undefined || texts.length < given.length) return undefined;
  return { pattern, flags };
}

/**
 * Every regular expression of a program: literals, texts that are given to `RegExp`, and the names of exported constants that are
 * made by `RegExp` of anything else. `unread` counts further uses of `RegExp`, whose expressions nobody can read here.
 */
function expressionsIn(text: string, lang: Language) {
  const [literals, exported]: [Expression[], string[]] = [[], []];
  let unread = 0;
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const node = part as Node;
    if (node.type === "TSTypeReference") return;
    if (node.type === "Literal" && node.regex) literals.push(node.regex);
    if (node.type === "Identifier" && node.name === "RegExp") unread += 1;
    const literal = literalIn(node);
    if (literal) {
      literals.push(literal);
      unread -= 1; // its callee is visited below
    }
    if (node.type === "ExportNamedDeclaration")
      for (const { id, init } of node.declaration?.declarations ?? []) {
        if (init?.type !== "NewExpression" || init.callee?.name !== "RegExp" || literalIn(init)) continue;
        exported.push(id!.name!);
        unread -= 1;
      }
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(parseAst(text, { lang }));
  return { literals, exported, unread };
}

/** Limits of time are off, as what they cut short is judged by the load of the machine; those of characters stay. */
const LIMITS = { timeout: 60_000, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

interface Program {
  text: string;
  lang: Language;
  load: () => Promise<Record<string, unknown>>;
}

/** The expressions of a program, and what is wrong: those whose time grows faster than the length of what they look at. */
async function judge({ text, lang, load }: Program): Promise<{ count: number; wrong: string[] }> {
  const { literals, exported, unread } = expressionsIn(text, lang);
  const module = exported.length > 0 ? await load() : {};
  const made = exported.map((name) => {
    const { source: pattern, flags } = module[name] as RegExp;
    return { pattern, flags };
  });
  const expressions = [...literals, ...made];
  const wrong = await Promise.all(
    expressions.map(async ({ pattern, flags }) => {
      const found = await check(pattern, flags, LIMITS);
      if (found.status === "safe") return [];
      const reason = found.status === "vulnerable" ? found.complexity.summary : found.status;
      return [`/${pattern}/${flags} is ${reason}`];
    }),
  );
  const hidden =
    unread > 0
      ? [
          `uses of RegExp that cannot be checked: ${unread}; write a literal, or export const NAME = new RegExp(…)`,
        ]
      : [];
  return { count: expressions.length, wrong: [...wrong.flat(), ...hidden] };
}

test("every regular expression of the sources takes linear time", {
  tags: "slow",
  timeout: 240_000,
}, async () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const paths = await Array.fromAsync(glob("{src,bin,console/src}/**/*.{js,ts,tsx}", { cwd: root }));
  expect(new Set(paths.map((path) => path.split("/")[0]))).toEqual(new Set(["src", "bin", "console"]));
  let total = 0;
  for (const path of paths) {
    const text = await readFile(join(root, path), "utf8");
    const lang = path.split(".").at(-1) as Language;
    const { count, wrong } = await judge({ text, lang, load: () => import(join(root, path)) });
    total += count;
    expect([path, wrong]).toEqual([path, []]);
  }
  expect(total).toBeGreaterThan(100);
});

const judgeText = (text: string) =>
  judge({ text, lang: "ts", load: () => import(`data:text/javascript,${encodeURIComponent(text)}`) });

describe("a regular expression is found that is", () => {
  test.each([
    ["quadratic", String.raw`const tail = (text: string) => text.replace(/(T.*[+-]\d\d)(\d\d)$/, "$1:$2");`],
    [
      "quadratic behind a fixed beginning",
      "const cut = (text: string) => /(cannot be [^:]*): .*$/s.test(text);",
    ],
    ["exponential", 'const isSome = (text: string) => new RegExp("^(?:a+)+$").test(text);'],
    [
      "exponential and made of a template",
      `const A = "a"; export const SOME = new RegExp(\`^(?:\${A}+)+$\`);`,
    ],
    ["exponential and made of two texts", 'export const SOME = new RegExp("^(?:a+" + ")+$");'],
    ["exponential and made of a list", 'export const SOME = new RegExp(["^(?:a+)+$", "b"].join("|"), "u");'],
  ])("%s in the length of its text", { timeout: 120_000 }, async (_, text) => {
    expect((await judgeText(text)).wrong).toEqual([expect.stringMatching(/polynomial|exponential/)]);
  });
});

describe("a regular expression that cannot be checked is found, such as one made", () => {
  test.each([
    ["of a template", `const A = "a"; const SOME = new RegExp(\`^(?:\${A}+)+$\`);`],
    ["of a template without parts", "const SOME = new RegExp(`^(?:a+)+$`);"],
    ["of two texts", 'const SOME = new RegExp("^(?:a+" + ")+$");'],
    ["of a list", 'const SOME = new RegExp(["^(?:a+)+$"].join("|"));'],
    ["in a function", "export const some = (a: string) => new RegExp(a);"],
    ["with flags that come from elsewhere", 'const some = (flags: string) => new RegExp("^a$", flags);'],
    ["without new", 'const SOME = RegExp("^(?:a+" + ")+$");'],
    ["by globalThis", 'export const SOME = new globalThis.RegExp("^(?:a+)+$");'],
    ["by another name", 'const Expression = RegExp; export const SOME = new Expression("^(?:a+)+$");'],
  ])("%s", async (_, text) => {
    expect((await judgeText(text)).wrong).toEqual([
      expect.stringMatching(/RegExp that cannot be checked: 1;/),
    ]);
  });
});
