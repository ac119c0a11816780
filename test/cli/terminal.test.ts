import { mkdir, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDataset } from "../../src/datasets/authoring.resolvers.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { createAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { openFolder } from "../support/commandLine.ts";
import { startServer } from "../support/server.ts";

/** Clears the screen in two ways, turns the order of what follows, and begins a line of its own. */
const HOSTILE = "x\u001b[2J\u009b2J\u202e\u2066\nRevoked everything.";
const SHOWN = "x\\u001b[2J\\u009b2J\\u202e\\u2066\\u000aRevoked everything.";
const ACTED_ON = /[^\P{Cc}\n]|\p{Bidi_Control}|^Revoked/mu;

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
  const context = await at.contextOf();
  await createAccessToken(context, { name: HOSTILE, scopes: ["read"], expiresAt: null });
  await createWorkspace(context.database, HOSTILE);
  await createDataset(context, { slug: "quiz", columns: [{ name: "q", type: "text" }] });
  await mkdir(at.path("prompts"));
  await writeFile(at.path(`prompts/${HOSTILE}.yaml`), `${JSON.stringify(HOSTILE)}: 1`);
  await writeFile(at.path("rows.jsonl"), JSON.stringify({ [HOSTILE]: 1 }));
  await mkdir(at.path("strays"));
  await writeFile(at.path(`strays/${HOSTILE}.yaml`), "");
});
afterAll(() => at.close());

test.each<[string, string[], string]>([
  ["names of tokens", ["token", "list"], SHOWN],
  ["names of workspaces", ["workspace", "list"], SHOWN],
  ["files and what is wrong in them", ["import", "prompts", "prompts"], `prompts/${SHOWN}.yaml, line 1: `],
  ["keys of files", ["import", "prompts", "prompts"], `${SHOWN} is not known here`],
  ["files that are left", ["export", "prompts", "strays"], SHOWN],
  [
    "columns that are left out",
    ["import", "dataset", "rows.jsonl", "--slug", "quiz"],
    "x\\u001b[2J\\u009b2J",
  ],
  ["what was asked for", ["export", "dataset", HOSTILE], "x\\u001b[2J\\u009b2J"],
  ["a wrong option", ["--x\u001b[2J"], "x\\u001b[2J"],
])(
  "the command line shows what others wrote, and the terminal does nothing of it: %s",
  async (_, command, shown) => {
    const { stdout, stderr } = await at.gabbro(...command);
    expect(stdout + stderr).toContain(shown);
    expect(stdout + stderr).not.toMatch(ACTED_ON);
  },
);

test("an error in the log cannot make a terminal do anything", async () => {
  const lines: string[] = [];
  await using server = await startServer({ log: (line) => lines.push(line) });
  server.app.log.error(new Error(HOSTILE, { cause: new Error(HOSTILE) }), "failed");
  const { err } = JSON.parse(lines.find((line) => line.includes('"failed"'))!);
  expect(err.message).toContain("x\\u001b[2J\\u009b2J\\u202e");
  for (const text of [err.message, err.stack]) expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
});
