import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, describe, expect, test } from "vitest";
import { createProgram } from "../../src/commandLine.ts";
import { products } from "../../src/importers/importers.ts";
import { needsPostgresql, SHOWN } from "../support/docsReader.ts";
import { gabbro } from "../support/program.ts";
import { readingOrder, readPage, snippetsOf } from "../support/snippets.ts";

// Most tests run commands in their own process. Here each is started as what it is, and has to end by itself.

const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
await mkdir(join(folder, "prompts"));
await writeFile(
  join(folder, "prompts/greet.yaml"),
  "slug: greet\nversions:\n  - { version: '1', text: Hi }\n",
);
await writeFile(join(folder, "records.jsonl"), "");

const started: [string, string][] = [
  ["migrate", "migrate"],
  ["sample", "sample"],
  ["push", "push prompts --yes"],
  ["diff", "diff prompts"],
  ["import langfuse", "import langfuse records.jsonl --dry-run"],
];
/** One program with that of Langfuse, but for the module that reads the file. */
const likeLangfuse = Object.keys(products).map((name) => `import ${name}`);
/** Started by other tests: test/cli/cli.test.ts and test/reliability/copy.test.ts. */
const elsewhere = ["serve", "copy"];

describe("a command started as a program ends by itself", { shuffle: false }, () => {
  test.each(started)("gabbro %s", async (_, command) => {
    const ended = await gabbro(folder, command.split(" "));
    expect(ended).toMatchObject({ code: 0 });
  });

  test("gabbro health, which finds no service", async () => {
    expect(await gabbro(folder, ["health"], { HOST: "127.0.0.1", PORT: "9" })).toMatchObject({ code: 1 });
  });
});

const TELL_MODULES = `
  import { registerHooks } from "node:module";
  registerHooks({ load(url, context, next) { console.log(url); return next(url, context); } });`;

test.each(["--help", "import dataset --help", "health", "token nope"])(
  "what needs no database does not wait until one is loaded: gabbro %s",
  async (command) => {
    const preload = `--import=data:text/javascript,${encodeURIComponent(TELL_MODULES)}`;
    const env = { NODE_OPTIONS: preload, HOST: "127.0.0.1", PORT: "9" };
    const { stdout } = await gabbro(folder, command.split(" "), env);
    expect(stdout).toContain("/src/commandLine.ts\n");
    expect(stdout).not.toMatch(/node_modules\/(?:@mikro-orm|graphql|fastify)\//);
  },
);

const leavesOf = (command: Command, path: string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(" ")]
    : command.commands.flatMap((each) => leavesOf(each, [...path, each.name()]));

test("every other command is started by the snippets of the docs, or by a test of its own", async () => {
  const shown = new Set([...started.map(([name]) => name), "health", ...likeLangfuse, ...elsewhere]);
  for (const page of await readingOrder()) {
    for (const snippet of snippetsOf(page, await readPage(page))) {
      if (SHOWN.includes(snippet.language) || needsPostgresql(snippet)) continue;
      for (const [, command] of snippet.text.matchAll(/npx gabbro ([a-z]+(?: [a-z]+)?)/g)) {
        shown.add(command!);
        shown.add(command!.split(" ")[0]!);
      }
    }
  }
  expect(leavesOf(createProgram()).filter((name) => !shown.has(name))).toEqual([]);
});
