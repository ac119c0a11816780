import { execFile } from "node:child_process";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import type { VersionSource } from "../../prompts/entities.ts";
import { MAX_SOURCE_CHARACTERS } from "../../prompts/inputs.ts";

const TIMEOUT_MS = 5_000;
/** A configured monitor of files would be run, and a configured display of signatures would be printed. */
const CONFIG = ["-c", "core.fsmonitor=false", "-c", "log.showSignature=false"];

/**
 * The last commit that changed a file. Null outside a git repository, without git, and when the file has changes that are not
 * committed, which no commit describes.
 */
export async function findSource(path: string): Promise<VersionSource | null> {
  const git = async (...args: string[]) => {
    const all = ["--no-optional-locks", "--literal-pathspecs", ...CONFIG, ...args, "--", basename(path)];
    return (await promisify(execFile)("git", all, { cwd: dirname(path), timeout: TIMEOUT_MS })).stdout;
  };
  try {
    if ((await git("status", "--porcelain")) !== "") return null;
    const [commit, author, message] = (await git("log", "-1", "--format=%H%x00%an%x00%s")).split("\0");
    if (!commit || author === undefined || message === undefined) return null;
    return { commit, author: shorten(author), message: shorten(message.trimEnd()) };
  } catch {
    return null;
  }
}

const shorten = (text: string) => text.slice(0, MAX_SOURCE_CHARACTERS).toWellFormed();
