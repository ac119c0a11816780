import { expect, test } from "vitest";
import { kinds, lookForSecrets } from "../../faults/secrets.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { isOnPostgresql } from "../support/server.ts";

// The long form: npm run faults -- secrets
const TIMEOUT_MS = 120_000;

const nothing = { inLogs: [], inAnswers: [], inDatabase: [] };

test(
  "no token and no payload is printed at any log level, errors show no internals, and no token is stored",
  async () => {
    await using database = await newDatabase();
    const { requests, faultsLogged, ...found } = await lookForSecrets(database);
    expect(found).toEqual(nothing);
    expect(faultsLogged).toBeGreaterThan(kinds.length * 10);
    expect(requests).toBeGreaterThan(500);
  },
  TIMEOUT_MS,
);

// PostgreSQL looks for words itself, and tokens are counted the same.
if (!isOnPostgresql)
  test(
    "nor when the threads fail that count tokens and look for words",
    async () => {
      await using database = await newDatabase();
      const spoilt = { ...database, preload: "failingWorkers" };
      const { requests: _, faultsLogged, ...found } = await lookForSecrets(spoilt, ["operations"]);
      expect(found).toEqual(nothing);
      expect(faultsLogged).toBeGreaterThan(2);
    },
    TIMEOUT_MS,
  );
