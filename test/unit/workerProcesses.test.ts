import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { createWorkerProcesses } from "../../src/limits/workerProcesses.ts";

const IDLE_MS = 60_000;
const ANSWERS_THE_SAME = 'process.on("message", (task) => process.send(task)); process.send("ready");';

/** Processes that answer a task with itself. */
async function startSame() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "same.mjs");
  await writeFile(file, ANSWERS_THE_SAME);
  const { run, close } = createWorkerProcesses<object, object>({
    file: pathToFileURL(file),
    heapMb: 32,
    busy: "Busy.",
  });
  return {
    run,
    [Symbol.asyncDispose]: async () => {
      close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

test("a task and its result are sent as they are: JSON, which has no such values, would be parsed in one turn", async () => {
  await using processes = await startSame();
  const task = { whole: 2n ** 70n, none: undefined, named: new Map([["a", Buffer.from("b")]]) };
  expect(await processes.run("ours", task, 10_000)).toEqual(task);
});

test("a task that comes while a process ends after a minute without work is answered by another one", async () => {
  // The end of an idle process comes when the test says so, and its event `exit` later, as always.
  const ends: (() => void)[] = [];
  const setTimer = globalThis.setTimeout;
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation(((
    work: (...args: unknown[]) => void,
    ms?: number,
    ...args: unknown[]
  ) => {
    if (ms === IDLE_MS) ends.push(() => work(...args));
    return setTimer(work, ms, ...args);
  }) as never);
  await using processes = await startSame();
  try {
    expect(await processes.run("ours", { n: 1 }, 10_000)).toEqual({ n: 1 });
    expect(ends).toHaveLength(1);
    ends[0]!();
    expect(await processes.run("ours", { n: 2 }, 10_000)).toEqual({ n: 2 });
  } finally {
    timers.mockRestore();
  }
});
