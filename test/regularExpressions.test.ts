import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Lints a file with that content by the rules of the repository. */
async function lint(content: string): Promise<{ code: number; stdout: string }> {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-linted-"));
  try {
    const file = join(folder, "linted.ts");
    await writeFile(file, content);
    const program = join(root, "node_modules/oxlint/bin/oxlint");
    const { stdout } = await run(process.execPath, [program, "--config", join(root, ".oxlintrc.json"), file]);
    return { code: 0, stdout };
  } catch (error) {
    return error as { code: number; stdout: string };
  } finally {
    await rm(folder, { recursive: true });
  }
}

test.each([
  [
    "quadratic",
    String.raw`export const tail = (text: string) => text.replace(/(T.*[+-]\d\d)(\d\d)$/, "$1:$2");`,
  ],
  [
    "quadratic behind a fixed beginning",
    "export const cut = (text: string) => /(cannot be [^:]*): .*$/s.test(text);",
  ],
  ["exponential", "export const isSome = (text: string) => /^(?:a+)+$/.test(text);"],
])("the linter refuses a regular expression that is %s in the length of its text", async (_, content) => {
  const { code, stdout } = await lint(content);
  expect(stdout).toContain("redos(no-vulnerable)");
  expect(code).not.toBe(0);
});

test("the linter accepts a linear regular expression", async () => {
  const { code } = await lint(
    String.raw`export const hasZone = (text: string) => /[+-]\d\d:\d\d$/.test(text);`,
  );
  expect(code).toBe(0);
});
