import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { program } from "../support/program.ts";

/** A package of its own with the real start, whose program is `main`. */
async function installPackage(main: string, bundled: "with Node.js" | "without Node.js") {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  for (const name of ["bin", "dist"]) await mkdir(join(folder, name));
  await copyFile(program, join(folder, "bin/gabbro.js"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "dist/main.js"), main);
  if (bundled === "with Node.js") {
    const isWindows = process.platform === "win32";
    const platform = isWindows ? "win" : process.platform;
    const bin = join(folder, `node_modules/node-${platform}-${process.arch}/bin`);
    await mkdir(bin, { recursive: true });
    await symlink(process.execPath, join(bin, isWindows ? "node.exe" : "node"));
  }
  const start = join(folder, "bin/gabbro.js");
  // The start reads process.versions, so an old version is what it finds there.
  const code = (...args: string[]) => `Object.defineProperty(process.versions, "node", { value: "20.11.0" });
    process.argv = [process.execPath, ${[start, ...args].map((arg) => JSON.stringify(arg))}];
    await import(${JSON.stringify(start)});`;
  return {
    start,
    /** The arguments of a Node.js that takes itself for an old one and starts the program. */
    argsFor: (...args: string[]) => ["--input-type=module", "-e", code(...args)],
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test("an old Node.js hands the program with its arguments to the Node.js of the package", async () => {
  const main = "console.log(process.versions.node, ...process.argv.slice(2)); process.exitCode = 7;";
  await using installed = await installPackage(main, "with Node.js");
  const run = promisify(execFile)(process.execPath, installed.argsFor("token", "a b; exit 3"));
  await expect(run).rejects.toMatchObject({
    code: 7,
    stdout: `${process.versions.node} token a b; exit 3\n`,
  });
});

test("an old Node.js passes SIGTERM on and ends as the program does", async () => {
  const main =
    'process.once("SIGTERM", () => { console.log("stopped"); process.exit(0); }); setInterval(() => {}, 1e6); console.log("ready");';
  await using installed = await installPackage(main, "with Node.js");
  const child = spawn(process.execPath, installed.argsFor(), { stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  await expect.poll(() => stdout).toBe("ready\n");
  child.kill("SIGTERM");
  expect(await once(child, "close")).toEqual([0, null]);
  expect(stdout).toBe("ready\nstopped\n");
});

test("an old Node.js without another one gives one clear line instead of a crash", async () => {
  await using installed = await installPackage("", "without Node.js");
  await expect(promisify(execFile)(process.execPath, installed.argsFor())).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^Gabbro needs Node\.js 24 or newer and .*\n$/),
  });
});

test.skipIf(process.platform === "win32")(
  "an import alone has a small heap, unless the user sizes it",
  async () => {
    await using installed = await installPackage(
      "console.log(JSON.stringify([process.execArgv, process.argv.slice(2)]));",
      "without Node.js",
    );
    const run = async (flags: string[], args: string[], env = {}) => {
      const options = { env: { PATH: process.env.PATH, ...env } };
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [...flags, installed.start, ...args],
        options,
      );
      return JSON.parse(stdout);
    };
    const args = ["import", "otlp", "a b.json"];
    const sizes = ["--max-semi-space-size=2", "--max-old-space-size=512"];
    expect(await run(["--no-deprecation"], args)).toEqual([[...sizes, "--no-deprecation"], args]);
    expect(await run([], ["serve"])).toEqual([[], ["serve"]]);
    expect(await run(["--max-old-space-size=90"], args)).toEqual([["--max-old-space-size=90"], args]);
    expect(await run([], args, { NODE_OPTIONS: "--max_semi_space_size=4" })).toEqual([[], args]);
  },
);
