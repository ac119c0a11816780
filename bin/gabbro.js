#!/usr/bin/env node
// Plain JavaScript, because a Node.js too old for Gabbro could not even read main.ts. This must reach the user before
// better-sqlite3 is loaded: on Node.js 20 that ends the process without a word.
import module from "node:module";
import { setFlagsFromString } from "node:v8";

if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `Gabbro needs Node.js 24 or newer and this is ${process.version}. Run it as "npm start" or "npx gabbro" after "npm ci", which brings its own, or install Node.js 24.`,
  );
  process.exit(1);
}
// While the program loads, V8 would take 50 MB more for new objects, and keep them for as long as nothing presses.
setFlagsFromString("--semi-space-growth-factor=1");
module.enableCompileCache(); // starts a third faster from the second time on
await import("../src/main.ts");
