import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rename, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openFolder, runCommand } from "../support/commandLine.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeEach(async () => {
  at = await openFolder();
});
afterEach(() => at.close());

test("what a backup or a restore that was killed has left is removed by the next one, that of a running one stays", async () => {
  await at.gabbro("backup", "monday.sqlite");
  const killed = spawn(process.execPath, ["--eval", ""]);
  await once(killed, "exit");
  const part = (pid: number | undefined) => `new.sqlite.${pid}-${crypto.randomUUID()}.partial`;
  const [left, underway] = [part(killed.pid), part(process.ppid)];
  for (const name of [left, `${left}-wal`, underway]) await writeFile(at.path(name), "");
  const to = { DATABASE_URL: "sqlite:new.sqlite" };
  expect(await runCommand(at.folder, ["restore", "monday.sqlite"], to)).toMatchObject({ code: 0 });
  expect((await readdir(at.folder)).toSorted()).toEqual(
    ["data", "monday.sqlite", "new.sqlite", underway].toSorted(),
  );
  await rename(at.path(underway), at.path(left.replace("new", "tuesday")));
  expect(await at.gabbro("backup", "tuesday.sqlite")).toMatchObject({ code: 0 });
  expect((await readdir(at.folder)).toSorted()).toEqual(
    ["data", "monday.sqlite", "new.sqlite", "tuesday.sqlite"].toSorted(),
  );
});
