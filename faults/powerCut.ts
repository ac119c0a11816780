import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GatewayEndedError, type How, prepareDatabase, startGateway } from "./gateway.ts";
import { isFaultless, judge, type Verdict } from "./ledgerCheck.ts";
import { type Ledger, newLedger, startWriters } from "./writers.ts";

export interface PowerCutResult extends Verdict {
  cycles: number;
  acknowledged: number;
}

/** Why the power cannot be cut on this machine; undefined when it can. */
export function whyNoPowerCut(): string | undefined {
  if (process.platform !== "linux") return "only Linux has the means";
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no C compiler";
  }
}

const MAX_WRITES = 4_000;
/** What the process ends with when the power was cut, and not for another reason. */
const CUT_STATUS = 86;

/**
 * Cuts the power of the gateway at random writes to the disk under writers, again and again on the same database: what
 * was not synced is lost, but for random sectors. Holds the database against all that was ever acknowledged each time the
 * power is back. Ends at the first fault.
 */
export async function cutPower(
  { databaseUrl, preload }: How,
  { cycles }: { cycles: number },
): Promise<PowerCutResult> {
  const ledger = newLedger();
  const result: PowerCutResult = { lost: [], doubled: [], faults: [], cycles: 0, acknowledged: 0 };
  const shim = compile();
  try {
    await prepareDatabase(databaseUrl);
    while (result.cycles < cycles && isFaultless(result)) {
      const power = {
        LD_PRELOAD: shim.path,
        CUT_PREFIX: databaseUrl.slice("sqlite:".length),
        CUT_AFTER: String(Math.floor(Math.random() * MAX_WRITES)),
        CUT_SEED: String(Math.floor(Math.random() * 2 ** 31)),
      };
      await writeUntilCut({ databaseUrl, preload, env: power }, ledger);
      result.cycles += 1;
      Object.assign(result, await judgeCopy(databaseUrl, ledger));
    }
  } finally {
    shim.remove();
  }
  return { ...result, acknowledged: ledger.acknowledged.size };
}

async function writeUntilCut(how: How, ledger: Ledger): Promise<void> {
  const gateway = await startGateway(how).catch((error) => {
    if (error instanceof GatewayEndedError && error.code === CUT_STATUS) return null; // it was just starting
    throw error;
  });
  if (!gateway) return;
  try {
    await startWriters(gateway.url, ledger).ended;
    const { code } = await gateway.ended;
    if (code !== CUT_STATUS) throw new Error(`The gateway ended with ${code}: ${gateway.said()}`);
  } finally {
    await gateway.kill();
  }
}

/** Leaves the files as the cut left them, for the next gateway to recover. */
async function judgeCopy(databaseUrl: string, ledger: Ledger): Promise<Verdict> {
  const path = databaseUrl.slice("sqlite:".length);
  const copy = `${path}.copy`;
  const ends = ["", "-wal", "-shm"];
  for (const end of ends.slice(0, 2)) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  try {
    return await judge(`sqlite:${copy}`, ledger);
  } finally {
    for (const end of ends) rmSync(copy + end, { force: true });
  }
}

function compile() {
  const folder = mkdtempSync(join(tmpdir(), "gabbro-power-"));
  const path = join(folder, "powerCut.so");
  const source = fileURLToPath(new URL("powerCut.c", import.meta.url));
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", path, source, "-ldl", "-lpthread"]);
  return { path, remove: () => rmSync(folder, { recursive: true }) };
}
