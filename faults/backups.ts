import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { gabbro } from "../test/support/program.ts";
import { prepareDatabase, startGateway } from "./gateway.ts";
import { judge, type Verdict } from "./ledgerCheck.ts";
import { newLedger, startWriters } from "./writers.ts";

export interface BackupsResult extends Verdict {
  backups: number;
  /** Acknowledged before the last backup began. */
  acknowledged: number;
  slowestBackupMs: number;
  /** How many acknowledged writes plain copies of the main file lacked that were made at the same moments: the control. */
  missingInCopies: number;
}

/**
 * Takes backups while 64 writers write, restores each elsewhere and holds it against what was acknowledged before it began.
 */
export async function takeBackups({
  backups,
  everyMs,
}: {
  backups: number;
  everyMs: number;
}): Promise<BackupsResult> {
  const folder = mkdtempSync(join(tmpdir(), "gabbro-backups-"));
  const file = join(folder, "gabbro.sqlite");
  const result: BackupsResult = {
    ...{ lost: [], doubled: [], faults: [], backups: 0 },
    ...{ acknowledged: 0, slowestBackupMs: 0, missingInCopies: 0 },
  };
  await prepareDatabase(`sqlite:${file}`);
  const gateway = await startGateway({ databaseUrl: `sqlite:${file}` });
  const ledger = newLedger();
  const writers = startWriters(gateway.url, ledger);
  try {
    while (result.backups < backups) {
      await wait(everyMs);
      const before = { ...ledger, acknowledged: new Set(ledger.acknowledged) };
      const copy = join(folder, `copy-${result.backups}.sqlite`);
      copyFileSync(file, copy);
      const begun = performance.now();
      const backup = join(folder, `backup-${result.backups}.sqlite`);
      await run(folder, ["backup", backup], { DATABASE_URL: `sqlite:${file}` });
      result.slowestBackupMs = Math.max(result.slowestBackupMs, performance.now() - begun);
      const restored = `sqlite:${join(folder, `restored-${result.backups}`, "gabbro.sqlite")}`;
      await run(folder, ["restore", backup], { DATABASE_URL: restored });
      const { lost, doubled, faults } = await judge(restored, before);
      result.lost.push(...lost);
      result.doubled.push(...doubled);
      result.faults.push(...faults);
      result.missingInCopies += await missingIn(copy, before);
      result.acknowledged = before.acknowledged.size;
      result.backups += 1;
    }
  } finally {
    await writers.stop();
    await gateway.kill();
    rmSync(folder, { recursive: true });
  }
  return result;
}

async function run(folder: string, args: string[], env: Record<string, string>): Promise<void> {
  const { code, stderr } = await gabbro(folder, args, env);
  if (code !== 0) throw new Error(`gabbro ${args[0]} failed: ${stderr}`);
}

/** Without its log a copy may not even be a database. */
async function missingIn(copy: string, before: ReturnType<typeof newLedger>): Promise<number> {
  try {
    return (await judge(`sqlite:${copy}`, before)).lost.length;
  } catch (error) {
    if (String((error as { code?: string }).code).startsWith("SQLITE_")) return before.acknowledged.size;
    throw error;
  }
}
