import { expect, test } from "vitest";
import { killGateway } from "../../faults/kill.ts";
import { killExporters } from "../../faults/killExporters.ts";
import { sendAgain } from "../../faults/retries.ts";
import { restartInTurn } from "../../faults/rollingRestart.ts";
import { serveOnSlowDisk } from "../../faults/slowDisk.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { CONTROL } from "../support/controls.ts";

const TIMEOUT = { timeout: 120_000 };
const REQUESTS = 400;
/** Of 400 requests 0 to 24 were stored twice in eight runs. */
const MAX_RUNS = 10;

test.each([
  ["writers", killGateway],
  ["exporters of OpenTelemetry", killExporters],
])(
  "killing a gateway under %s shows the loss when they are answered before the commit",
  CONTROL,
  async (_, kill) => {
    await using database = await newDatabase();
    const { lost, faults } = await kill({ ...database, preload: "answerBeforeCommit" }, { cycles: 20 });
    expect(lost.length, faults.join()).toBeGreaterThan(0);
  },
);

test("sending again shows what is stored twice without keys", TIMEOUT, async () => {
  let doubled: string[] = [];
  for (let run = 0; run < MAX_RUNS && doubled.length === 0; run++) {
    await using database = await newDatabase();
    const found = await sendAgain(database, { requests: REQUESTS, keys: "without keys" });
    expect(found).toMatchObject({ requests: REQUESTS, lost: [], faults: [] });
    doubled = found.doubled;
  }
  expect(doubled.length).toBeGreaterThan(0);
});

test("restarting shows the requests that fail when gateways are killed instead", TIMEOUT, async () => {
  await using database = await newDatabase();
  const { failed, lost } = await restartInTurn(database, { gateways: 1, restarts: 1, signal: "SIGKILL" });
  expect(failed.length).toBeGreaterThan(0);
  expect(lost).toEqual([]);
});

test(
  "a slow disk shows that hardly any writes share a commit where nothing has them wait for each other",
  TIMEOUT,
  async () => {
    await using database = await newDatabase();
    const load = { seconds: 3, commitMs: 200 };
    const spoilt = { ...database, preload: "manyTransactions" };
    expect((await serveOnSlowDisk(spoilt, load)).writesPerCommit).toBeLessThan(2);
  },
);
