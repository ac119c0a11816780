#!/usr/bin/env node
// Plain JavaScript, because a Node.js too old for Gabbro could not even read main.ts. This must reach the user before
// better-sqlite3 is loaded: on Node.js 20 that ends the process without a word.
import { lstatSync, mkdirSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `Gabbro needs Node.js 24 or newer and this is ${process.version}. Run it as "npm start" or "npx gabbro" after "npm ci", which brings its own, or install Node.js 24.`,
  );
  process.exit(1);
}
const folder = compileCacheFolder();
if (folder) module.enableCompileCache(folder); // starts a third faster from the second time on
await import("../src/main.ts");

/**
 * Whoever can write to the cache runs code as this user. Who can write to the package can do so anyhow, so the cache is in
 * it, in a folder that only this user may open; where there can be none, there is no cache.
 */
function compileCacheFolder() {
  const path = fileURLToPath(new URL("../node_modules/.cache/gabbro", import.meta.url));
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path); // a link is not followed
    const isPrivate = found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
    return found.isDirectory() && (isPrivate || process.platform === "win32") ? path : undefined;
  } catch {
    return undefined;
  }
}
