import { mkdtemp, rm } from "node:fs/promises";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Gateway, headers, prepareDatabase, startGateway } from "../../faults/gateway.ts";

async function withGateway(preload: string | undefined, work: (gateway: Gateway) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const databaseUrl = `sqlite:${join(folder, "gabbro.sqlite")}`;
  await prepareDatabase(databaseUrl);
  const gateway = await startGateway({ databaseUrl, preload });
  try {
    await work(gateway);
  } finally {
    await gateway.kill();
    await rm(folder, { recursive: true });
  }
}

test.skipIf(platform() === "win32")(
  "a promise that fails and that nothing waits for is logged, and ends nothing",
  () =>
    withGateway("forgottenPromise", async ({ child, said, url }) => {
      child.kill("SIGUSR2");
      await expect.poll(said, { timeout: 10_000 }).toContain("nothing waits for this");
      expect((await fetch(`${url}/ready`)).status).toBe(200);
    }),
);

test("errors in the entries of a long list are answered, and not logged for each entry", () =>
  withGateway(undefined, async ({ stop, said, url }) => {
    const post = async (path: string, body: object) => {
      const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return response.json();
    };
    const logs = Array.from({ length: 1_000 }, (_, n) => ({ id: `${n}`, type: "span", startTime: 1 }));
    const { trace } = await post("/monitor/trace", { startTime: 1, logs });
    const failing = 'trace { logs(first: 1, after: "no cursor") { nodes { id } } }';
    const fields = `id name type status costSource depth offsetMs startTime missingParent ${failing}`;
    const query = `{ trace(id: "${trace.id}") { logs(first: 1000) { nodes { ${fields} } } } }`;
    expect(await post("/graphql", { query })).toMatchObject({
      errors: [{ extensions: { code: "BAD_INPUT" } }],
    });
    await stop();
    expect(said()).not.toContain("nothing waits for");
  }));
