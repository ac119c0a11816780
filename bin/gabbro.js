#!/usr/bin/env node
// Plain JavaScript, because a Node.js too old for Gabbro could not even read main.ts. This must choose the Node.js before
// better-sqlite3 is loaded: on Node.js 20 that ends the process without a word.
import { spawn } from "node:child_process";
import { existsSync, lstatSync, mkdirSync } from "node:fs";
import module from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(import.meta.url);

if (Number(process.versions.node.split(".")[0]) < 24) runBy(bundledNode());
else {
  if (process.argv[2] === "import") useLittleMemory();
  await start();
}

async function start() {
  const folder = compileCacheFolder();
  if (folder) module.enableCompileCache(folder); // starts a third faster from the second time on
  const isClone = existsSync(new URL("../src/main.ts", import.meta.url));
  await import(isClone ? "../src/main.ts" : "../dist/main.js");
}

/** The Node.js that comes with the package; undefined on a system that it has none for. */
function bundledNode() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const file = process.platform === "win32" ? "bin/node.exe" : "bin/node";
  try {
    return module.createRequire(program).resolve(`node-${platform}-${process.arch}/${file}`);
  } catch {
    return undefined;
  }
}

/**
 * Begins again with a small heap, and with few arenas of glibc's: an import makes much garbage and holds little, and by default
 * Node.js lets the garbage grow to hundreds of megabytes. Sizes that the user gives stay. Windows cannot replace a process.
 */
function useLittleMemory() {
  const isSized = /space[-_]size/.test([process.env.NODE_OPTIONS, ...process.execArgv].join());
  if (isSized || process.platform === "win32" || !process.execve) return;
  const sizes = ["--max-semi-space-size=2", "--max-old-space-size=512"];
  const args = [...sizes, ...process.execArgv, program, ...process.argv.slice(2)];
  process.execve(process.execPath, [process.execPath, ...args], { MALLOC_ARENA_MAX: "2", ...process.env });
}

/** Runs the program by another Node.js, and ends as it does. */
function runBy(node) {
  if (!node) {
    console.error(
      `Gabbro needs Node.js 24 or newer and this is ${process.version}. Install Node.js 24, or on Linux and Windows install Gabbro with its optional dependencies: they include it.`,
    );
    process.exit(1);
  }
  const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: "inherit" });
  child.on("error", ({ message }) => {
    console.error(`gabbro: cannot start ${node}: ${message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // A terminal sends SIGINT to both processes, and a second one would end the child at once.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  // npm passes no signal on. The child ends when its parent does, as this process does.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event)
    setInterval(() => process.ppid === parent || process.exit(1), 250).unref();
}

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
