import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cutPower, whyNoPowerCut } from "../../faults/powerCut.ts";
import { CONTROL } from "../support/controls.ts";

// The long form: npm run faults -- power-cut
const TIMEOUT_MS = 120_000;
const why = whyNoPowerCut();
const left = why ? ` (left out: ${why})` : "";

async function newDatabase() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  return {
    databaseUrl: `sqlite:${join(folder, "gabbro.sqlite")}`,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test.skipIf(why)(
  `a power cut loses nothing that was acknowledged, and leaves a whole database${left}`,
  async () => {
    await using database = await newDatabase();
    const { acknowledged, ...found } = await cutPower(database, { cycles: 3 });
    expect(found).toEqual({ cycles: 3, lost: [], doubled: [], faults: [] });
    expect(acknowledged).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

test.skipIf(why)(`that test sees the loss with synchronous=NORMAL${left}`, CONTROL, async () => {
  await using database = await newDatabase();
  const { lost, faults } = await cutPower({ ...database, preload: "normalSync" }, { cycles: 20 });
  expect(lost.length, faults.join()).toBeGreaterThan(0);
});
