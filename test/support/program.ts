import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const program = fileURLToPath(new URL("../../bin/gabbro.js", import.meta.url));

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Starts the program in a folder and waits for its end. Where only its answer counts, `runCommand` takes less time. */
export async function gabbro(
  folder: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const options = { cwd: folder, env: { PATH: process.env.PATH, ...env }, maxBuffer: 100_000_000 };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args], options);
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Ended;
    return { code, stdout, stderr };
  }
}
