import { expect, test } from "vitest";
import { sendBadInput } from "../../faults/badInput.ts";
import { injectInto } from "../../faults/injection.ts";
import { lookForSecrets } from "../../faults/secrets.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { startServer } from "../support/server.ts";

const TIMEOUT_MS = 300_000;
const FIXED = 1;

test.each([
  [
    "its statements are put together from texts",
    "textsInStatements",
    { cases: 2_000, kept: 0 }, // it ends at the first
    "INTERNAL|500",
  ],
  ["texts are not checked", "textsUnchecked", { cases: 0, kept: 250 }, "came back as|500"],
])(
  "malformed requests find a gateway of which %s",
  async (_, preload, wanted, message) => {
    await using database = await newDatabase();
    const spoilt = { ...database, preload };
    const { faults } = await sendBadInput(spoilt, { ...wanted, seeds: [FIXED], maxFaults: 1 });
    expect(faults[0]).toMatch(new RegExp(message));
  },
  TIMEOUT_MS,
);

test(
  "injected payloads find a gateway that writes texts into its statements as they are",
  async () => {
    await using server = await startServer();
    const platform = server.database.orm.em.getPlatform();
    const escaped = platform.escape.bind(platform);
    platform.escape = (value) => (typeof value === "string" ? `'${value}'` : escaped(value));
    const { faults } = await injectInto(server, 1);
    expect(faults).not.toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "the search for secrets finds a gateway that prints what it is sent",
  async () => {
    await using database = await newDatabase();
    const { inLogs } = await lookForSecrets({ ...database, preload: "logBodies" }, ["tokens"]);
    for (const secret of ["kanarienvogel", "a-token-for-fault-tests", "gab_"])
      expect(inLogs).toContainEqual(expect.stringContaining(secret));
  },
  TIMEOUT_MS,
);
