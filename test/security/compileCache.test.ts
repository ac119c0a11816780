import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { program } from "../support/program.ts";

/** A package of its own with the real start; its program prints where compiled code is cached. */
async function installPackage() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  for (const name of ["bin", "src", "shared"]) await mkdir(join(folder, name));
  await copyFile(program, join(folder, "bin/gabbro.js"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(
    join(folder, "src/main.ts"),
    'import module from "node:module"; console.log(module.getCompileCacheDir() ?? "none");',
  );
  const cache = join(folder, "node_modules/.cache/gabbro");
  return {
    path: (name: string) => join(folder, name),
    cache,
    run: async () => {
      const args = ["--import=data:text/javascript,process.umask(0)", join(folder, "bin/gabbro.js")];
      const env = { PATH: process.env.PATH, TMPDIR: join(folder, "shared") };
      return (await promisify(execFile)(process.execPath, args, { env })).stdout.trim();
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test("compiled code is cached in a folder of the package that only its user may open, whatever the umask", async () => {
  await using installed = await installPackage();
  expect(await installed.run()).toContain(installed.cache);
  expect((await lstat(installed.cache)).mode & 0o777).toBe(0o700);
  expect(await readdir(installed.cache)).not.toEqual([]);
  expect(await installed.run()).toContain(installed.cache);
});

test("the programs that the tests start keep compiled code, too: no test leaves a folder that they refuse", async () => {
  await promisify(execFile)(process.execPath, [program, "--version"]);
  const cache = fileURLToPath(new URL("../../node_modules/.cache/gabbro", import.meta.url));
  expect((await lstat(cache)).mode & 0o777).toBe(0o700);
});

test("nothing is put into, or taken from, the shared folder for temporary files", async () => {
  await using installed = await installPackage();
  await installed.run();
  expect(await readdir(installed.path("shared"))).toEqual([]);
});

type Installed = Awaited<ReturnType<typeof installPackage>>;

const unfit: [string, (at: Installed) => Promise<void>][] = [
  ["others may write to it", ({ cache }) => chmod(cache, 0o777)],
  ["others may read it", ({ cache }) => chmod(cache, 0o755)],
  [
    "it is a symbolic link",
    async ({ cache, path }) => {
      await rm(cache, { recursive: true });
      await symlink(path("shared"), cache);
    },
  ],
  [
    "it is a file",
    async ({ cache }) => {
      await rm(cache, { recursive: true });
      await writeFile(cache, "", { mode: 0o600 });
    },
  ],
];
const NOBODY = 65_534;
if (process.getuid?.() === 0)
  // no other user can give a folder away
  unfit.push(["it belongs to another user", ({ cache }) => chown(cache, NOBODY, NOBODY)]);

test.each(unfit)("compiled code is cached nowhere where the folder is unfit: %s", async (_, spoil) => {
  await using installed = await installPackage();
  await mkdir(installed.cache, { recursive: true, mode: 0o700 });
  await spoil(installed);
  expect(await installed.run()).toBe("none");
  expect(await readdir(installed.path("shared"))).toEqual([]);
});
