import { isMainThread, parentPort } from "node:worker_threads";

// Threads that count tokens and look for words end at the first text that they are given.
if (!isMainThread) parentPort?.once("message", () => process.exit(1));
