import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sendAgain } from "../../faults/retries.ts";
import { isOnPostgresql, newPostgresqlDatabase } from "../support/server.ts";

// The long form: npm run faults -- retries
const TIMEOUT_MS = 120_000;
const REQUESTS = 400;

/** Of 400 requests on SQLite 0 to 24 were stored twice in eight runs. */
const MAX_CONTROLS = 10;

test(
  "what is sent again with its key because its connection was cut is stored once",
  async () => {
    const { cut, ...found } = await sendToNewDatabase("with keys");
    expect(found).toEqual({ requests: REQUESTS, lost: [], doubled: [], faults: [] });
    expect(cut).toBeGreaterThan(REQUESTS / 10);
  },
  TIMEOUT_MS,
);

test(
  "that test sees what is stored twice without keys",
  async () => {
    let doubled: string[] = [];
    for (let run = 0; run < MAX_CONTROLS && doubled.length === 0; run++) {
      const found = await sendToNewDatabase("without keys");
      expect(found).toMatchObject({ requests: REQUESTS, lost: [], faults: [] });
      doubled = found.doubled;
    }
    expect(doubled.length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

async function sendToNewDatabase(keys: "with keys" | "without keys") {
  const own = isOnPostgresql ? await newPostgresqlDatabase("bare") : null;
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const databaseUrl = own?.url ?? `sqlite:${join(folder, "gabbro.sqlite")}`;
  try {
    return await sendAgain({ databaseUrl }, { requests: REQUESTS, keys });
  } finally {
    await own?.drop();
    await rm(folder, { recursive: true, force: true });
  }
}
