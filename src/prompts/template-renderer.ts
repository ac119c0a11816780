import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { GabbroError } from "../errors.ts";
import type { Rendered, Rendering } from "./template-process.ts";

/**
 * Renders in a process beside the server, one template after the other. It must be a process: templates that grow a
 * list take a thread's heap to its limit in one allocation, and then V8 ends the whole process, not the thread.
 */
export async function renderInProcess(rendering: Rendering): Promise<Rendered> {
  const askedAt = performance.now();
  const answer = lastRendering.then(() => {
    if (performance.now() - askedAt < LONGEST_WAIT_MS) return renderNext(rendering);
    throw new GabbroError("UNAVAILABLE", "Too many templates are being rendered. Try again in a while.", {
      headers: { "retry-after": "1" },
    });
  });
  lastRendering = answer.catch(() => {});
  return answer;
}

const LIMIT_MS = 1_000;
const LONGEST_WAIT_MS = 5_000;
const START_LIMIT_MS = 30_000;
const IDLE_MS = 60_000;
const HEAP_MB = 128;

let lastRendering: Promise<unknown> = Promise.resolve();
let renderer: ChildProcess | undefined;
let idle: NodeJS.Timeout | undefined;

async function renderNext(rendering: Rendering): Promise<Rendered> {
  clearTimeout(idle);
  const child = renderer ?? (await startRenderer());
  renderer = child;
  child.send(rendering, () => {}); // An error of sending is the end of the process, which is awaited below.
  const answer = await nextMessage(child, LIMIT_MS);
  idle = setTimeout(() => child.kill("SIGKILL"), IDLE_MS).unref();
  return answer ?? { fault: `takes more than a second or ${HEAP_MB} MB to render`, isSyntax: false };
}

async function startRenderer(): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("./template-process.ts", import.meta.url)), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    env: {}, // Templates have no business with the server's secrets.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.on("error", () => {}); // What could not be started is found by its missing first message.
  child.once("exit", () => {
    if (renderer === child) renderer = undefined;
  });
  child.unref();
  child.channel?.unref();
  if (await nextMessage(child, START_LIMIT_MS)) return child;
  throw new Error("The process that renders templates did not start.");
}

/** Undefined if the process ended first, or did not answer in time: then it is made to end. */
function nextMessage(child: ChildProcess, limitMs: number): Promise<Rendered | undefined> {
  return new Promise((resolve) => {
    const settle = (answer?: Rendered) => {
      clearTimeout(limit);
      child.off("message", settle).off("exit", giveUp);
      resolve(answer);
    };
    const giveUp = () => {
      child.kill("SIGKILL");
      if (renderer === child) renderer = undefined;
      settle();
    };
    const limit = setTimeout(giveUp, limitMs);
    child.once("message", settle).once("exit", giveUp);
  });
}
