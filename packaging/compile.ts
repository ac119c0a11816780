import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Compiles src/ into dist/ for the npm package: Node.js strips no types from files below node_modules.
const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");
const target = join(root, "dist");

rmSync(target, { recursive: true, force: true });
const compiler = join(root, "node_modules/typescript/bin/tsc");
execFileSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });

// What the program reads beside its modules, such as the style sheet of GraphiQL.
for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !/\.ts$|schema\.json$/.test(entry.name)) cpSync(path, path.replace(source, target));
}

// The compiler renames the modules in imports, but not those that the program starts as processes and threads.
for (const name of readdirSync(target, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".js")) continue;
  const path = join(target, name);
  const text = readFileSync(path, "utf8");
  const renamed = text.replaceAll(/(new URL\("[^"]+)\.ts(", import\.meta\.url\))/g, "$1.js$2");
  if (renamed !== text) writeFileSync(path, renamed);
}
