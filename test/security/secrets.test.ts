import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kinds, lookForSecrets } from "../../faults/secrets.ts";
import { isOnPostgresql, newPostgresqlDatabase } from "../support/server.ts";

// The long form: npm run faults -- secrets
const TIMEOUT_MS = 120_000;

async function look(preload?: string, sent?: Parameters<typeof lookForSecrets>[1]) {
  const own = isOnPostgresql ? await newPostgresqlDatabase("bare") : null;
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const databaseUrl = own?.url ?? `sqlite:${join(folder, "gabbro.sqlite")}`;
  try {
    return await lookForSecrets({ databaseUrl, preload }, sent);
  } finally {
    await own?.drop();
    await rm(folder, { recursive: true, force: true });
  }
}

const nothing = { inLogs: [], inAnswers: [], inDatabase: [] };

test(
  "no token and no payload is printed at any log level, errors show no internals, and no token is stored",
  async () => {
    const { requests, faultsLogged, ...found } = await look();
    expect(found).toEqual(nothing);
    expect(faultsLogged).toBeGreaterThan(kinds.length * 10);
    expect(requests).toBeGreaterThan(500);
  },
  TIMEOUT_MS,
);

test(
  "nor when the threads fail that count tokens and look for words",
  async () => {
    const { requests: _, faultsLogged, ...found } = await look("failingWorkers", ["operations"]);
    expect(found).toEqual(nothing);
    expect(faultsLogged).toBeGreaterThan(2);
  },
  TIMEOUT_MS,
);

test(
  "the same search finds a gateway that prints what it is sent",
  async () => {
    const { inLogs } = await look("logBodies", ["tokens"]);
    for (const secret of ["kanarienvogel", "a-token-for-fault-tests", "gab_"])
      expect(inLogs).toContainEqual(expect.stringContaining(secret));
  },
  TIMEOUT_MS,
);
