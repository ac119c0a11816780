import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The package of the console. In the npm package of Gabbro, it has nothing but what was built. */
export const CONSOLE = join(root, "console");
export const BUILT = join(CONSOLE, "dist");

/** The console's sources outside of its package: the editor of prompts parses templates as the service does. */
const SHARED = ["schema.graphql", "src/errors.ts", "src/templates/parse.ts", "src/templates/tokens.ts"];
const IS_NO_SOURCE = /^(?:node_modules|gql|dist.*)$/;

/** Whether a source of the console is newer than what was built, or nothing was; never without sources. */
export function isConsoleStale(): boolean {
  if (!existsSync(join(CONSOLE, "src"))) return false;
  const page = statSync(join(BUILT, "index.html"), { throwIfNoEntry: false });
  return !page || newestSourceMs() > page.mtimeMs;
}

/** When a source of the console changed last, in whole milliseconds. */
export function newestSourceMs(): number {
  return Math.ceil(Math.max(...[CONSOLE, ...SHARED.map((path) => join(root, path))].map(newestMs)));
}

/** One call after another: 200 of them take 2 ms, a third of what they take with `recursive` and `withFileTypes`. */
function newestMs(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found?.mtimeMs ?? 0;
  const names = readdirSync(path).filter((name) => !IS_NO_SOURCE.test(name));
  return Math.max(0, ...names.map((name) => newestMs(`${path}/${name}`)));
}
