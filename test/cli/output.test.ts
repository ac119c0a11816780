import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeFileWhole } from "../../src/commands/output.ts";

test("two exports to one file at the same time each leave a complete file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-output-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "rows.csv");
  const goOn = Promise.withResolvers<void>();
  const secondHalf = async function* (first: string, second: string) {
    yield first;
    await goOn.promise;
    yield second;
  };
  const slow = writeFileWhole(path, secondHalf("one ", "two"));
  await writeFileWhole(path, ["all at once"]);
  expect(await readFile(path, "utf8")).toBe("all at once");
  goOn.resolve();
  await slow;
  expect(await readFile(path, "utf8")).toBe("one two");
  expect(await readdir(folder)).toEqual(["rows.csv"]);
});
