import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { playgroundPage } from "../../src/graphiql/page.ts";
import { differenceOf } from "../support/answers.ts";
import { openReader, SHOWN } from "../support/docsReader.ts";
import { allDocuments, anchorsOf, linksOf, readingOrder, readPage, snippetsOf } from "../support/snippets.ts";

const TIMEOUT_MS = 300_000;
const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = await readingOrder();
const textOf: Record<string, string> = Object.fromEntries(
  await Promise.all(pages.map(async (page) => [page, await readPage(page)])),
);

describe("every command and snippet works as it stands", { timeout: TIMEOUT_MS }, () => {
  const runnable = pages.filter((page) =>
    snippetsOf(page, textOf[page]!).some(({ language }) => !SHOWN.includes(language)),
  );
  test.concurrent.each(runnable)("of %s, in its order, on a fresh database", async (page) => {
    await using reader = await openReader();
    await reader.follow(snippetsOf(page, textOf[page]!));
  });

  test("and so does the command that GraphiQL shows", async () => {
    const [, command] = /<code>(npx gabbro [^<]+)<\/code>/.exec(playgroundPage())!;
    await using reader = await openReader();
    await reader.follow(snippetsOf("GraphiQL", `\`\`\`sh\n${command}\n\`\`\`\n`));
  });

  test("npx runs the program of this folder, also without a network", async () => {
    const home = await mkdtemp(join(tmpdir(), "gabbro-npx-"));
    const quiet = { npm_config_offline: "true", npm_config_update_notifier: "false" };
    const env = { PATH: process.env.PATH, HOME: home, ...quiet };
    const { stdout } = await promisify(execFile)("npx", ["gabbro", "--version"], { cwd: root, env });
    expect(stdout.trim()).toBe(packageJson.version);
    await rm(home, { recursive: true, force: true });
  });

  test("README begins with the two commands, the second of which is what the tests start", () => {
    const [first] = snippetsOf("README.md", textOf["README.md"]!);
    expect(first).toMatchObject({ language: "text", text: "npm ci\nnpm start\n" });
    expect(packageJson.scripts.start).toMatch(/^node .*bin\/gabbro\.js serve$/);
  });
});

describe("a snippet that does not work is found", { timeout: TIMEOUT_MS }, () => {
  let reader: Awaited<ReturnType<typeof openReader>>;
  beforeAll(async () => {
    reader = await openReader();
  });
  afterAll(() => reader[Symbol.asyncDispose]());

  const fenced = (language: string, text: string) => `\n\`\`\`${language}\n${text}\n\`\`\`\n`;
  const token = fenced("sh", "export TOKEN=$(npx gabbro token create --name me)");
  const read = 'curl -H "Authorization: Bearer $TOKEN" localhost:3001';
  test.each<[string, string, string]>([
    ["a command that there is not", fenced("sh", "npx gabbro nothing"), "page.md:2"],
    ["a command that fails before another", fenced("sh", "false\ntrue"), "page.md:2"],
    ["a variable that is never set", fenced("sh", "echo $NEVER_SET"), "NEVER_SET"],
    ["a request that is refused", token + fenced("sh", `${read}/datasets/nothing`), "DATASET_NOT_FOUND"],
    ["a field that the schema lacks", fenced("graphql", "{ nothing }"), "GRAPHQL_VALIDATION_FAILED"],
    ["a subscription that it lacks", fenced("graphql", "subscription { nothing }"), "page.md:2"],
    [
      "another answer than it shows",
      token + fenced("sh", `${read}/datasets`) + fenced("json", '{"datasets": []}'),
      "has 1 entries",
    ],
    ["another text than it shows", fenced("sh", "echo one") + fenced("output", "two"), "one"],
    ["an answer to nothing", fenced("json", "{}"), "nothing before it"],
    ["JavaScript that throws", fenced("js", 'throw new Error("broken")'), "broken"],
    ["a language that nothing runs", fenced("ruby", "puts 1"), "ruby"],
  ])("%s", async (_, markdown, said) => {
    await expect(reader.follow(snippetsOf("page.md", markdown))).rejects.toThrow(said);
  });

  test.each<[unknown, unknown, string | null]>([
    [{ id: "…", n: 1 }, { id: "a", n: 1 }, null],
    [{ id: "…" }, { id: null }, 'the answer.id is null, not "…"'],
    [{ at: "2026-…Z" }, { at: "2026-11-01T00:00:00Z" }, null],
    [{ n: 1 }, { n: 2 }, "the answer.n is 2, not 1"],
    [{ n: 1 }, { n: 1, m: 1 }, "the answer also has m"],
    [{ n: 1, m: 1 }, { n: 1 }, "the answer lacks m"],
    [[1, "…"], [1, 2, 3], null],
    [[1, 2], [1, 2, 3], "the answer has 3 entries"],
  ])("%j beside the answer %j: %s", (shown, actual, difference) => {
    expect(differenceOf(shown, actual)).toBe(difference);
  });

  test.each(["- item\n  ```sh\n  false\n  ```\n", "```sh\nfalse\n", "~~~sh\nfalse\n~~~\n"])(
    "also in a block that is not read as one: %j",
    (markdown) => {
      expect(() => snippetsOf("page.md", markdown)).toThrow("page.md");
    },
  );
});

test("README has at most 200 lines", () => {
  expect(textOf["README.md"]!.split("\n").length).toBeLessThanOrEqual(200);
});

test("README lists every page of docs/", async () => {
  const files = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"));
  expect(pages.slice(1).toSorted()).toEqual(files.map((name) => `docs/${name}`).toSorted());
});

test("every link between the pages leads to a file, and to a heading in it", async () => {
  const broken: string[] = [];
  for (const [page, text] of await allDocuments()) {
    for (const link of linksOf(text)) {
      const [path, anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path!);
      const isThere = existsSync(join(root, target));
      const hasAnchor = !anchor || (isThere && anchorsOf(await readPage(target)).includes(anchor));
      if (!isThere || !hasAnchor) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});
