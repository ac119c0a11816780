import { mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Context } from "../../src/context.ts";
import { createPrompt, createPromptVersion } from "../../src/prompts/authoring.resolvers.ts";
import { promptContents } from "../../src/prompts/content.resolvers.ts";
import { publishPrompt, setTagProtection } from "../../src/prompts/tags.resolvers.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { openFolder } from "../support/commandLine.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
  const context = await at.contextOf();
  for (const name of ["copied", "planned", "changed"]) await createWorkspace(context.database, name);
  for (const workspace of ["default", "changed"]) await makeWelcome(await at.contextOf(workspace));
});
afterAll(() => at.close());

const nastyTexts = [
  "one line",
  "  spaces before\n    and within \n\nand behind  \n\n\n",
  "\n\nblank lines before",
  "\ttabs\t\n\t- and lists\n",
  "---\nkey: value # no comment\n...\n",
  "\"quotes\" and 'more'\\n \\",
  "CR LF\r\nand CR\rand LF\n",
  "😀 عربية \u2028 \u0085 \uFEFF \u0001",
  "&anchor *alias !tag |block >fold %percent @at `tick`",
  "null",
  "1.0",
  "x".repeat(300),
  `${"long words that folding would break ".repeat(20)}\n end`,
];

async function makePrompts(workspace: string) {
  const context = await at.contextOf(workspace);
  await createPrompt(context, { slug: "nasty", name: "007", description: "", featureSlug: "feature" });
  for (const [n, text] of nastyTexts.entries()) {
    await createPromptVersion(context, {
      slug: "nasty",
      input: {
        version: `1.${n}`,
        text,
        systemText: nastyTexts.at(-n) ?? null,
        model: {
          provider: null,
          client: null,
          model: "m",
          version: "1.0",
          parameters: { stop: [text], temperature: 0.1, big: 1e21, none: null },
        },
        variables: [{ label: text, type: "", description: text }],
      },
    });
  }
  const messages = [
    ...nastyTexts.map((content) => ({ role: "user", content, name: "bot" })),
    { placeholder: "history" },
  ];
  for (const [version, own] of [
    ["2.0", {}],
    ["2.1", { text: "A text of its own.", systemText: "s" }],
  ] as const)
    await createPromptVersion(context, { slug: "nasty", input: { version, messages, ...own } });
  await publishPrompt(context, { slug: "nasty", newTag: "production", version: "1.3" });
  for (const newTag of ["1.0: #x", "__proto__", "constructor"])
    await publishPrompt(context, { slug: "nasty", newTag, version: "1.0" });
  await setTagProtection(context, { slug: "nasty", input: { tag: "production", protected: true } });
  await createPrompt(context, { slug: "bare" });
}

const filesOf = async (folder: string) => {
  const names = (await readdir(at.path(folder))).toSorted();
  return Promise.all(names.map(async (name) => [name, await readFile(at.path(join(folder, name)), "utf8")]));
};

/** Writes the files of a folder and imports it. */
async function importing(folder: string, files: Record<string, string | Buffer>, ...more: string[]) {
  await mkdir(at.path(folder), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(at.path(join(folder, name)), text);
  return at.gabbro("import", "prompts", folder, ...more);
}
const stored = async (slug: string, workspace?: string) =>
  (await promptContents(await at.contextOf(workspace))).find((prompt) => prompt.slug === slug);

test("prompts exported from one workspace, imported into another and exported again are the same, byte for byte", async () => {
  await makePrompts("other");
  expect(await at.gabbro("export", "prompts", "one", "--workspace", "other")).toMatchObject({
    code: 0,
    stdout: "2 prompts in one: 2 files written, 0 unchanged.\n",
  });
  expect(await at.gabbro("import", "prompts", "one", "--yes", "--workspace", "copied")).toMatchObject({
    code: 0,
    stderr: "",
  });
  expect(await at.gabbro("export", "prompts", "two", "--workspace", "copied")).toMatchObject({ code: 0 });
  expect(await filesOf("two")).toEqual(await filesOf("one"));
  expect(await promptContents(await at.contextOf("copied"))).toEqual(
    await promptContents(await at.contextOf("other")),
  );
  expect((await filesOf("one")).map(([name]) => name)).toEqual(["bare.yaml", "nasty.yaml"]);
  expect(await at.gabbro("import", "prompts", "one", "--yes", "--workspace", "copied")).toMatchObject({
    code: 0,
    stdout: "Nothing to do: the prompts are as the files say.\n",
  });
  expect((await at.gabbro("export", "prompts", "two", "--workspace", "copied")).stdout).toContain(
    "0 files written, 2 unchanged",
  );
});

const welcome = `slug: welcome
name: Welcome
tags:
  production: "1.0"
protectedTags: [production]
versions:
  - version: "1.0"
    text: |-
      Greet {{ name }}.
      Be brief.
`;

/** The prompt of that file. */
async function makeWelcome(context: Context) {
  const slug = "welcome";
  await createPrompt(context, { slug, name: "Welcome" });
  const input = { version: "1.0", text: "Greet {{ name }}.\nBe brief." };
  await createPromptVersion(context, { slug, input });
  await publishPrompt(context, { slug, newTag: "production", version: "1.0" });
  await setTagProtection(context, { slug, input: { tag: "production", protected: true } });
}

test("an import reports what it would change, and changes it only with --yes", async () => {
  const plan = [
    'create prompt "welcome"',
    'add version "1.0" to prompt "welcome"',
    'set tag "production" of prompt "welcome" to "1.0"',
    'protect tag "production" of prompt "welcome"',
  ].join("\n");
  const files = { "welcome.yaml": welcome };
  const planned = ["--workspace", "planned"];
  expect(await importing("plan", files, "--dry-run", ...planned)).toEqual({
    code: 0,
    stdout: `${plan}\nDry run, nothing was changed: 4 changes.\n`,
    stderr: "",
  });
  expect(await importing("plan", files, ...planned)).toEqual({
    code: 1,
    stdout: `${plan}\n`,
    stderr: "gabbro: Nothing was changed. To make these changes, say --yes.\n",
  });
  expect(await stored("welcome", "planned")).toBeUndefined();
  expect(await importing("plan", files, "--yes", ...planned)).toEqual({
    code: 0,
    stdout: `${plan}\nMade 4 changes.\n`,
    stderr: "",
  });
  expect(await stored("welcome", "planned")).toMatchObject({
    name: "Welcome",
    tags: new Map([["production", "1.0"]]),
    protectedTags: ["production"],
    versions: [{ version: "1.0", text: "Greet {{ name }}.\nBe brief.", variables: [{ label: "name" }] }],
  });
  expect((await importing("plan", files, ...planned)).stdout).toContain("Nothing to do");
});

test("what changed in a file is changed, and what it does not mention stays", async () => {
  const changed = `slug: welcome
description: Greets.
tags: { production: "2.0", staging: "1.0" }
versions:
  - { version: "0.9", text: Hi }
  - version: "1.0"
    text: "Greet {{ name }}.\\nBe brief."
  - { version: "2.0", text: Hello }
`;
  expect(await importing("changed", { "welcome.yaml": changed }, "--yes", "--workspace", "changed")).toEqual({
    code: 0,
    stdout: [
      'change description of prompt "welcome"',
      'add version "0.9" to prompt "welcome", as the newest, for its place is taken',
      'add version "2.0" to prompt "welcome"',
      'move tag "production" of prompt "welcome" from "1.0" to "2.0"',
      'set tag "staging" of prompt "welcome" to "1.0"',
      "Made 5 changes.\n",
    ].join("\n"),
    stderr: "",
  });
  expect(await stored("welcome", "changed")).toMatchObject({
    name: "Welcome",
    description: "Greets.",
    protectedTags: ["production"],
    tags: new Map([
      ["production", "2.0"],
      ["staging", "1.0"],
    ]),
    versions: [{ version: "1.0" }, { version: "0.9" }, { version: "2.0" }],
  });
});

const withBias = (bias: string) => `${welcome}    model: { model: m, parameters: { bias: ${bias} } }\n`;

test.each<[string, string | Buffer, string]>([
  [
    "a version that exists with other content",
    welcome.replace("brief", "long"),
    'line 7: version "1.0" of prompt "welcome" exists with other content; versions never change',
  ],
  [
    "a text that is no template",
    welcome.replace('- version: "1.0"', '- version: "3"').replace("{{ name }}", "{{ name"),
    "line 8: text is not a valid template",
  ],
  [
    "a message that is no template",
    `${welcome}  - version: "3"\n    messages:\n      - { role: system, content: ok }\n      - role: user\n        content: "{{ name"\n`,
    "line 15: messages.1.content is not a valid template",
  ],
  [
    "a member that a message does not have",
    `${welcome}  - version: "3"\n    messages:\n      - { role: user, contents: x }\n`,
    "line 13: versions.1.messages.0.contents is not known here",
  ],
  [
    "a version without texts",
    `${welcome}  - version: "3"\n`,
    "line 11: versions.1.text is required, or else messages",
  ],
  ["no YAML", "slug: [\n", "line 2: "],
  ["a name that is not known", welcome.replace("name:", "nmae:"), "line 2: nmae is not known here"],
  [
    "a version that is a number",
    welcome.replace('- version: "1.0"', "- version: 1.0"),
    "line 7: versions.0.version must be a string",
  ],
  [
    "a tag without its version",
    welcome.replace('production: "1.0"', 'production: "9"'),
    'line 4: the tag "production" points to "9", which is no version of the prompt',
  ],
  [
    "the tag latest",
    welcome.replace('production: "1.0"', 'latest: "1.0"'),
    'line 4: the tag "latest" follows the newest version by itself',
  ],
  [
    "the tag latest protected",
    welcome.replace("protectedTags: [production]", "protectedTags: [latest]"),
    'line 5: the tag "latest" follows the newest version by itself and cannot be protected',
  ],
  [
    "a version twice",
    `${welcome}  - { version: "1.0", text: x }\n`,
    'line 11: version "1.0" stands there twice',
  ],
  [
    "a number that would change",
    `${welcome}    model: { model: m, parameters: { seed: 12345678901234567890 } }\n`,
    "line 11: is a whole number too large",
  ],
  ["no slug", "name: x\n", "line 1: slug is required"],
  ["a key twice", `${welcome}tags: {}\n`, "line 11: Map keys must be unique"],
  ["a key as a number and as a text", withBias('{ 1: a, "1": b }'), "line 11: Map keys must be unique"],
  ...["!!set { a, b }", "!!omap [a: 1]", "!!pairs [a: 1]", "!!binary aGk=", "!!timestamp 2026-01-01"].map(
    (value): [string, string, string] => [
      `the value ${value}`,
      withBias(value),
      "line 11: has a tag whose values JSON does not have",
    ],
  ),
  ["a key that is a list", withBias("{ [1, 2]: a }"), "line 11: a key must be a text"],
  ["a key that is an alias", withBias("{ a: &a x, *a : b }"), "line 11: a key must be a text"],
  ["YAML 1.1", `# old\n%YAML 1.1\n---\n${withBias("no")}`, "line 2: is of YAML 1.1, where no is false"],
  [
    "letters that are not UTF-8",
    Buffer.from(welcome.replace("brief", "br\xe8f"), "latin1"),
    "line 1: this line, or one of the next hundreds, is not UTF-8.",
  ],
  ["a name of JavaScript's own", `${welcome}__proto__: { x: 1 }\n`, "line 11: __proto__ is not known here"],
  ["tags that are a list", welcome.replace('production: "1.0"', "- x"), "line 4: tags must be an object"],
  ["a bad slug", "slug: A b\n", "line 1: slug must be lower-case letters"],
])(
  "faults of files are reported with file and line, and nothing is changed: %s",
  async (_, text, message) => {
    const before = await promptContents(await at.contextOf());
    const good = "slug: good\nversions:\n  - { version: '1', text: x }\n";
    const { code, stdout, stderr } = await importing("faults", { "a.yaml": good, "b.yml": text }, "--yes");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`faults/b.yml, ${message}`);
    expect(await promptContents(await at.contextOf())).toEqual(before);
  },
);

test("a tag is set by its name alone, be it that of something every object has", async () => {
  const tags = ["__proto__", "constructor", "toString"].map((name) => `  ${name}: "1"\n`).join("");
  const text = `slug: named\ntags:\n${tags}versions:\n  - { version: "1", text: x }\n`;
  expect(
    (
      await importing(
        "named",
        { "named.yaml": 'slug: named\nversions:\n  - { version: "1", text: x }\n' },
        "--yes",
      )
    ).code,
  ).toBe(0);
  const { code, stdout } = await importing("named", { "named.yaml": text }, "--yes");
  expect(code).toBe(0);
  for (const name of ["__proto__", "constructor", "toString"])
    expect(stdout).toContain(`set tag "${name}" of prompt "named" to "1"\n`);
  expect([...(await stored("named"))!.tags.keys()].toSorted()).toEqual([
    "__proto__",
    "constructor",
    "toString",
  ]);
});

test("very many unknown keys take linear time, and the first hundred are reported", async () => {
  const keys = Array.from({ length: 60_000 }, (_, n) => `key${n}: 1\n`).join("");
  const begun = performance.now();
  const { code, stderr } = await importing("unknown", { "a.yaml": `slug: a\n${keys}` }, "--yes");
  expect(performance.now() - begun).toBeLessThan(20_000); // it took more than a minute
  expect(code).toBe(1);
  expect(stderr.match(/is not known here/g)).toHaveLength(100);
  expect(stderr).toContain("… and 59,900 more.\n");
});

test.each([
  [
    "aliases that multiply",
    `slug: a\na: &a [1,1,1,1,1,1,1,1,1]\n${"bcdefghi".replaceAll(/./g, (name) => `${name}: &${name} [${Array(9).fill(`*${String.fromCharCode(name.charCodeAt(0) - 1)}`)}]\n`)}`,
  ],
  ["nesting without end", `slug: a\nname: ${"[".repeat(100_000)}\n`],
  [
    "very many aliases",
    `slug: a\n${Array.from({ length: 1_001 }, (_, n) => `k${n}: [&a${n} 1, *a${n}]\n`).join("")}`,
  ],
  ["a name without end", `slug: *${"x".repeat(1_000_000)}\n`],
])("a file that asks for more than it should is refused by its name, in few words: %s", async (_, text) => {
  const { code, stderr } = await importing("bombs", { "bomb.yaml": text }, "--yes");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^gabbro: .*bombs\/bomb\.yaml(?: cannot be read: |, line \d+: (?!k0))/s);
  expect(stderr.length).toBeLessThan(20_000);
});

test("a file of prompts over 64 MB is not read, and neither is what is no file", async () => {
  await importing("huge", {}, "--dry-run");
  await writeFile(at.path("huge/a.yaml"), "");
  await truncate(at.path("huge/a.yaml"), 64 * 1024 * 1024 + 1);
  const failed = { code: 1, stderr: "gabbro: huge/a.yaml is larger than 64 MB.\n" };
  expect(await at.gabbro("import", "prompts", "huge", "--yes")).toMatchObject(failed);
  await mkdir(at.path("folder/a.yaml"), { recursive: true });
  expect(await at.gabbro("import", "prompts", "folder", "--yes")).toMatchObject({
    code: 1,
    stderr: "gabbro: folder/a.yaml is not a file.\n",
  });
});

test("two files of one prompt, an empty folder and a missing one are refused", async () => {
  const text = "slug: twin\n";
  expect(await importing("twins", { "a.yaml": text, "b.yaml": text }, "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('twins/b.yaml, line 1: the slug "twin" stands in twins/a.yaml too'),
  });
  expect(await importing("bare", {}, "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no file in bare"),
  });
  expect(await at.gabbro("import", "prompts", "nowhere")).toMatchObject({
    code: 1,
    stderr: "gabbro: There is no folder nowhere.\n",
  });
});

test("an export writes a file for every prompt, also for those after the hundredth", async () => {
  const { database } = await at.contextOf();
  const workspace = await createWorkspace(database, "hundreds");
  const slugs = Array.from({ length: 201 }, (_, n) => `p${String(n).padStart(3, "0")}`);
  const head = { workspace, description: null, featureSlug: null, protectedTags: [], createdAt: new Date() };
  await database.commit(slugs.map((slug) => ["Prompt", { ...head, id: uuidv7(), slug, name: slug }]));
  expect((await at.gabbro("export", "prompts", "hundreds", "--workspace", "hundreds")).code).toBe(0);
  expect((await filesOf("hundreds")).map(([name]) => name)).toEqual(slugs.map((slug) => `${slug}.yaml`));
});

test("an export names files of prompts that the workspace does not have, and leaves them", async () => {
  await importing("strays", { "stray.yaml": "slug: stray\n" }, "--dry-run");
  expect(await at.gabbro("export", "prompts", "strays")).toMatchObject({
    code: 0,
    stderr: "No prompt of this workspace has the slug of: stray.yaml.\n",
  });
  expect((await filesOf("strays")).map(([name]) => name)).toContain("stray.yaml");
});

test("an import from another product moves tags that are here with --move-tags", async () => {
  const write = (version: number, labels: string[]) =>
    writeFile(
      at.path("langfuse.jsonl"),
      JSON.stringify({ name: "moved", type: "text", prompt: "x", version, labels }),
    );
  await write(1, ["live"]);
  expect((await at.gabbro("import", "langfuse", "langfuse.jsonl")).code).toBe(0);
  await write(2, ["live"]);
  const { code, stdout } = await at.gabbro("import", "langfuse", "langfuse.jsonl", "--move-tags");
  expect([code, stdout]).toEqual([0, expect.stringContaining("tags: 0 added, 1 changed, 0 unchanged")]);
});
