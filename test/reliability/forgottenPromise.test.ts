import { mkdtemp, rm } from "node:fs/promises";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { prepareDatabase, startGateway } from "../../faults/gateway.ts";

test.skipIf(platform() === "win32")(
  "a promise that fails and that nothing waits for is logged, and ends nothing",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
    const databaseUrl = `sqlite:${join(folder, "gabbro.sqlite")}`;
    await prepareDatabase(databaseUrl);
    const gateway = await startGateway({ databaseUrl, preload: "forgottenPromise" });
    try {
      gateway.child.kill("SIGUSR2");
      await expect.poll(gateway.said, { timeout: 10_000 }).toContain("nothing waits for this");
      expect((await fetch(`${gateway.url}/ready`)).status).toBe(200);
    } finally {
      await gateway.kill();
      await rm(folder, { recursive: true });
    }
  },
);
