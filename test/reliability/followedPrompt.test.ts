import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { headers, prepareDatabase, startGateway, TOKEN } from "../../faults/gateway.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { readPage, snippetsOf } from "../support/snippets.ts";

const TIMEOUT_MS = 120_000;

/** Answers each message with the version of the prompt that the client of the page serves. */
const ASKED = `import { followPrompt } from "./followPrompt.mjs";
const followed = await followPrompt("country-guide");
process.on("message", () => process.send(followed.prompt.version));
process.send("ready");
`;

/** The client as it stands in docs/clients.md, in a process of its own. */
async function startClient(url: string) {
  const page = await readPage("docs/clients.md");
  const { text } = snippetsOf("docs/clients.md", page).find(({ language }) => language === "mjs")!;
  const folder = await mkdtemp(join(tmpdir(), "gabbro-client-"));
  await writeFile(join(folder, "followPrompt.mjs"), text);
  await writeFile(join(folder, "asked.mjs"), ASKED);
  const env = { PATH: process.env.PATH, GABBRO_URL: url, TOKEN };
  const child = fork(join(folder, "asked.mjs"), { env, stdio: "ignore" });
  const ended = once(child, "exit");
  await Promise.race([once(child, "message"), ended.then(endedEarly)]);
  return {
    version: async () => {
      child.send("?");
      return (await once(child, "message"))[0];
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function endedEarly(): never {
  throw new Error("The client ended before it was ready.");
}

const publish = async (url: string, version: string) => {
  const body = JSON.stringify({ newTag: "production", version });
  const { status } = await fetch(`${url}/prompts/country-guide/publish`, { method: "POST", headers, body });
  expect(status).toBe(201);
};

test(
  "the documented client has each change at once, and the last prompt while Gabbro is away",
  async () => {
    await using database = await newDatabase();
    await prepareDatabase(database.databaseUrl, "with sample");
    const gateway = await startGateway(database);
    await publish(gateway.url, "1.0.0");
    await using client = await startClient(gateway.url);
    expect(await client.version()).toBe("1.0.0");
    await publish(gateway.url, "1.1.0");
    await vi.waitFor(async () => expect(await client.version()).toBe("1.1.0"), 5_000);

    await gateway.kill();
    await expect(fetch(gateway.url)).rejects.toThrow();
    expect(await client.version()).toBe("1.1.0");

    const again = await startGateway({ ...database, env: { PORT: new URL(gateway.url).port } });
    await publish(again.url, "1.0.0");
    await vi.waitFor(async () => expect(await client.version()).toBe("1.0.0"), 10_000);
    await again.kill();
  },
  TIMEOUT_MS,
);
