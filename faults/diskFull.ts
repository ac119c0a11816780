import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Gateway, type How, headers, prepareDatabase, startGateway } from "./gateway.ts";
import { isFaultless, judge, type Verdict } from "./ledgerCheck.ts";
import { newLedger, startWriters } from "./writers.ts";

export interface DiskFullResult extends Verdict {
  cycles: number;
  acknowledged: number;
  /** Answers while the disk was full. */
  refused: number;
  /** Those that were no 503 with Retry-After that names the disk. */
  wrongAnswers: string[];
  /** Reads that were not served while the disk was full. */
  unread: number;
}

const DISK_BYTES = 24 * 1024 * 1024;
const FULL_MS = 1_000;
/** A gateway that acknowledges what it cannot store refuses nothing. */
const MAX_WAIT_MS = 10_000;

/**
 * Fills a small disk under writers and makes room again, again and again with one gateway; holds the database against all
 * that was ever acknowledged. Mounts a disk in memory, which only root may.
 */
export async function fillDisk({
  cycles,
  preload,
}: { cycles: number } & Pick<How, "preload">): Promise<DiskFullResult> {
  const disk = mkdtempSync(join(tmpdir(), "gabbro-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", disk]);
  try {
    return await fillMounted(disk, cycles, preload);
  } finally {
    execFileSync("umount", ["--lazy", disk]);
    rmSync(disk, { recursive: true });
  }
}

async function fillMounted(disk: string, cycles: number, preload?: string): Promise<DiskFullResult> {
  const databaseUrl = `sqlite:${join(disk, "gabbro.sqlite")}`;
  const ballast = join(disk, "ballast");
  await prepareDatabase(databaseUrl);
  const gateway = await startGateway({ databaseUrl, preload });
  const until = createUntil(gateway);
  const ledger = newLedger();
  const result = { lost: [], doubled: [], faults: [], cycles: 0, unread: 0 };
  try {
    while (result.cycles < cycles && isFaultless(result)) {
      const writers = startWriters(gateway.url, ledger, { isPatient: true });
      await until(() => ledger.acknowledged.size, 64);
      fill(ballast);
      await until(() => ledger.refused.length, 64);
      const read = await fetch(`${gateway.url}/datasets`, { headers }).catch(() => null);
      if (read?.status !== 200) result.unread += 1;
      await wait(FULL_MS);
      rmSync(ballast);
      await until(() => ledger.acknowledged.size, 64);
      await writers.stop();
      result.cycles += 1;
      Object.assign(result, await judge(databaseUrl, ledger));
    }
  } finally {
    await gateway.kill();
  }
  const wrong = ledger.refused.filter(
    ({ status, retryAfter, message }) =>
      status !== 503 || retryAfter === null || !/^The disk of|^The files of/.test(message),
  );
  return {
    ...result,
    acknowledged: ledger.acknowledged.size,
    refused: ledger.refused.length,
    wrongAnswers: [...new Set(wrong.map((answer) => JSON.stringify(answer)))],
  };
}

function fill(file: string): void {
  const piece = Buffer.alloc(4_096);
  try {
    for (;;) appendFileSync(file, piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

/** Waits until there are so many more, or the gateway has ended, or it is in vain. */
function createUntil({ child }: Gateway) {
  return async (count: () => number, more: number): Promise<void> => {
    const wanted = count() + more;
    const givenUpAt = performance.now() + MAX_WAIT_MS;
    while (count() < wanted && child.exitCode === null && performance.now() < givenUpAt) await wait(5);
  };
}
