import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test, vi } from "vitest";
import { headers, prepareDatabase, startGateway, TOKEN } from "../../faults/gateway.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { readPage, snippetsOf } from "../support/snippets.ts";

const TIMEOUT_MS = 120_000;

/** For each language, the program around the client: it prints the version of the prompt that it serves for each line. */
const clients = {
  mjs: {
    command: process.execPath,
    file: "followPrompt.mjs",
    asked: `import { createInterface } from "node:readline";
import { followPrompt } from "./followPrompt.mjs";
const followed = await followPrompt("country-guide");
for await (const _ of createInterface({ input: process.stdin })) console.log("version", followed.prompt.version);
`,
  },
  python: {
    command: "python3",
    file: "follow_prompt.py",
    asked: `import sys
from follow_prompt import FollowedPrompt
followed = FollowedPrompt("country-guide")
followed.ready.wait()
for _ in sys.stdin:
    print("version", followed.prompt["version"], flush=True)
`,
  },
};

/** The client as it stands in docs/clients.md, in a process of its own. */
async function startClient(language: keyof typeof clients, url: string) {
  const page = await readPage("docs/clients.md");
  const { text } = snippetsOf("docs/clients.md", page).find((snippet) => snippet.language === language)!;
  const folder = await mkdtemp(join(tmpdir(), "gabbro-client-"));
  const { command, file, asked } = clients[language];
  await writeFile(join(folder, file), text);
  await writeFile(join(folder, `asked${extname(file)}`), asked);
  const env = { PATH: process.env.PATH, GABBRO_URL: url, TOKEN };
  const child = spawn(command, [`asked${extname(file)}`], {
    ...{ cwd: folder, env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    version: async () => {
      child.stdin.write("?\n");
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error("The client ended.");
        if (value.startsWith("version ")) return value.slice("version ".length);
      }
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const publish = async (url: string, version: string) => {
  const body = JSON.stringify({ newTag: "production", version });
  const { status } = await fetch(`${url}/prompts/country-guide/publish`, { method: "POST", headers, body });
  expect(status).toBe(201);
};

test.concurrent.each(["mjs", "python"] as const)(
  "the documented client in %s has each change at once, and the last prompt while Gabbro is away",
  async (language) => {
    await using database = await newDatabase();
    await prepareDatabase(database.databaseUrl, "with sample");
    const gateway = await startGateway(database);
    await publish(gateway.url, "1.0.0");
    await using client = await startClient(language, gateway.url);
    expect(await client.version()).toBe("1.0.0");
    await publish(gateway.url, "1.1.0");
    await vi.waitFor(async () => expect(await client.version()).toBe("1.1.0"), 30_000);

    await gateway.kill();
    await expect(fetch(gateway.url)).rejects.toThrow();
    expect(await client.version()).toBe("1.1.0");

    const again = await startGateway({ ...database, env: { PORT: new URL(gateway.url).port } });
    await publish(again.url, "1.0.0");
    await vi.waitFor(async () => expect(await client.version()).toBe("1.0.0"), 30_000);
    await again.kill();
  },
  TIMEOUT_MS,
);
