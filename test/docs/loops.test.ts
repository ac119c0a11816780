import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ProductName } from "../../src/importers/importers.ts";
import { addPrompt } from "../support/data.ts";
import { importInto } from "../support/imports.ts";
import * as apis from "../support/productApis.ts";
import { type Server, startServer } from "../support/server.ts";
import { readPage, snippetsOf } from "../support/snippets.ts";

const page = await readPage("docs/migrating.md");
let server: Server;
let folder: string;
beforeEach(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), "gabbro-loops-"));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The loop below a heading of the page, and the address of the API in it. */
function loopOf(heading: string) {
  const section = page.split(/^(?=## )/m).find((part) => part.startsWith(`## ${heading}\n`))!;
  const loop = snippetsOf(heading, section).find(({ text }) => text.includes("curl"))!.text;
  const [, origin] = /^(?:API|BASE)=(https:\/\/[\w.]+)/m.exec(loop)!;
  return { loop, origin: origin! };
}

/** Runs the loop as it stands, but for its address. Returns what it printed, which is nothing but errors of curl. */
async function runLoop(heading: string, url: string, env: Record<string, string>): Promise<string> {
  const { loop, origin } = loopOf(heading);
  const text = loop.replaceAll(origin, url);
  const options = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } };
  return new Promise((resolve, reject) => {
    execFile("sh", ["-c", text], options, (error, stdout, stderr) =>
      error ? reject(error) : resolve(stdout + stderr),
    );
  });
}

const none = { added: 0, changed: 0, unchanged: 0 };
const added = (counts: Record<string, number>) =>
  Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, { ...none, added: count }]));

const loops: [string, ProductName, apis.ProductApi, Record<string, string>, Record<string, number>][] = [
  [
    ...(["Langfuse", "langfuse", apis.langfuse] as const),
    { LANGFUSE_PUBLIC_KEY: "pk", LANGFUSE_SECRET_KEY: apis.KEY },
    { prompts: 3, versions: 6, tags: 3, datasets: 1, rows: 5, spans: 0 },
  ],
  [
    ...(["Braintrust", "braintrust", apis.braintrust] as const),
    { BRAINTRUST_API_KEY: apis.KEY },
    { prompts: 3, versions: 3, tags: 0, datasets: 3, rows: 15, spans: 5 },
  ],
  [
    ...(["LangSmith", "langsmith", apis.langsmith] as const),
    { LANGSMITH_API_KEY: apis.KEY },
    { prompts: 2, versions: 4, tags: 2, datasets: 2, rows: 206, spans: 103 },
  ],
];

test.each(loops)(
  "the loop for %s reads all pages of its API, and all of it is imported",
  async (heading, product, api, env, counts) => {
    await using source = await apis.startApi(api);
    expect(await runLoop(heading, source.url, env)).toBe("");
    expect(source.refused).toEqual([]);
    const report = await importInto(server, product, join(folder, product));
    expect(report).toEqual({ counts: added(counts), refusals: [], leftOut: {} });
  },
);

test("the loop for PromptLayer reads each version, also where none has the label", async () => {
  await using source = await apis.startApi(apis.promptLayer);
  const printed = await runLoop("PromptLayer", source.url, { PROMPTLAYER_API_KEY: apis.KEY });
  expect(printed).toMatch(/^curl: [^\n]*404[^\n]*\n$/);
  expect(source.refused).toEqual(["404 POST /prompt-templates/chat%2Fsupport"]);
  const report = await importInto(server, "promptlayer", join(folder, "promptlayer"));
  const counts = { prompts: 3, versions: 9, tags: 2, datasets: 0, rows: 0, spans: 0 };
  expect(report).toEqual({ counts: added(counts), refusals: [], leftOut: {} });
  const { body } = await server.request("GET", "/prompts/movie-critic?tag=prod");
  expect(body.prompt).toMatchObject({ version: "2", text: "Tell 2 of {{ topic }}." });
});

test("the loop for Basalt brings everything from a service with its API to another one", async () => {
  await using source = await startServer();
  const versions = ["1.0", "2.0 é"].map((version) => ({ version, text: `Hi ${version}` }));
  await addPrompt(source, { slug: "welcome", versions, tags: { production: "1.0", staging: "2.0 é" } });
  expect(await runLoop("Basalt", source.url, { BASALT_API_KEY: source.token })).toBe("");
  const report = await importInto(server, "basalt", join(folder, "basalt"));
  expect(report.refusals).toEqual([]);
  for (const path of ["/prompts", "/prompts/welcome", "/prompts/welcome?tag=staging", "/datasets"])
    expect((await server.request("GET", path)).body, path).toEqual((await source.request("GET", path)).body);
});
