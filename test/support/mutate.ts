import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";

/**
 * A program: runs StrykerJS on a file or a folder of `src/`, with the tests that are named after it. The tests go by the
 * environment, as `--testFiles` lets every change survive that takes effect when a module is loaded.
 */
const [path = "src", ...others] = process.argv.slice(2);
const [tests, options] = [true, false].map((isTest) =>
  others.filter((other) => other.startsWith("test/") === isTest),
);
const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
const packages = ["core", "vitest-runner"].flatMap((name) => ["-p", `@stryker-mutator/${name}@10.1.1`]);
const args = ["--yes", ...packages, "stryker", "run", "-m", isFolder ? `${path}/**/*.ts` : path, ...options!];
const env = { ...process.env, MUTATE_TESTS: tests!.join(",") };
process.exitCode = spawnSync("npx", args, { stdio: "inherit", env }).status ?? 1;
