import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sendAgain } from "../../faults/retries.ts";
import { isOnPostgresql, newPostgresqlDatabase } from "../support/server.ts";

// The long form: npm run faults -- retries
const TIMEOUT_MS = 120_000;
const REQUESTS = 400;

test.each(["with keys", "without keys"] as const)(
  "%s: what is sent again because its connection was cut is stored once only if it has a key",
  async (keys) => {
    const own = isOnPostgresql ? await newPostgresqlDatabase("bare") : null;
    const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
    const databaseUrl = own?.url ?? `sqlite:${join(folder, "gabbro.sqlite")}`;
    try {
      const { cut, doubled, ...found } = await sendAgain({ databaseUrl }, { requests: REQUESTS, keys });
      expect(found).toEqual({ requests: REQUESTS, lost: [], faults: [] });
      expect(cut).toBeGreaterThan(REQUESTS / 10);
      if (keys === "with keys") expect(doubled).toEqual([]);
      else expect(doubled.length).toBeGreaterThan(0);
    } finally {
      await own?.drop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  TIMEOUT_MS,
);
