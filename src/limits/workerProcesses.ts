import { type ChildProcess, fork } from "node:child_process";
import { createFairQueue } from "./fairQueue.ts";

export interface WorkerProcessesOptions {
  /** The module of a process. It sends "ready" once, and then one answer to each message. */
  file: URL;
  args?: string[];
  heapMb: number;
  /** The message of a refusal when too many tasks of a workspace wait. */
  busy: string;
  /** Whether a task that has run so long must end before its time. */
  mustEnd?: (runningMs: number) => Promise<boolean>;
}

/** While one works for a workspace, the other serves all other workspaces. */
const MAX_PROCESSES = 2;
const MAX_WAITING = 100;
const MAX_WAIT_MS = 5_000;
const START_LIMIT_MS = 30_000;
const IDLE_MS = 60_000;
const ASK_MS = 100;

/**
 * Processes beside the server for work that may take long or never end. Unlike a thread, a process can be killed at any
 * time, and running out of memory ends it alone. Processes start on demand and end after a minute without work. Workspaces
 * take turns.
 */
export function createWorkerProcesses<Message extends object, Answer>(options: WorkerProcessesOptions) {
  const queue = createFairQueue({
    places: MAX_PROCESSES,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    busy: options.busy,
  });
  const processes = new Set<ChildProcess>();
  const idleTimers = new Map<ChildProcess, NodeJS.Timeout>();

  const start = async (): Promise<ChildProcess> => {
    const child = startProcess(options);
    processes.add(child);
    child.once("exit", () => {
      processes.delete(child);
      clearTimeout(idleTimers.get(child));
      idleTimers.delete(child);
    });
    if ((await nextMessage(child, START_LIMIT_MS, undefined)) !== undefined) return child;
    throw new Error(`The process of ${options.file.pathname} did not start.`);
  };

  const takeIdle = (): ChildProcess | undefined => {
    const [child, end] = [...idleTimers].at(-1) ?? [];
    clearTimeout(end);
    if (child) idleTimers.delete(child);
    return child;
  };

  const endIdle = (child: ChildProcess) => {
    idleTimers.delete(child); // it ends some milliseconds later, and would answer nothing until then
    child.kill("SIGKILL");
  };

  return {
    /** The answer to a message; undefined when the process did not answer in time and was killed, or ended by itself. */
    run: (workspaceId: string, message: Message, limitMs: number): Promise<Answer | undefined> =>
      queue.run(workspaceId, async () => {
        const child = takeIdle() ?? (await start());
        child.send(message, () => {}); // sending fails only when the process has ended, which is noticed below
        const answer = await nextMessage<Answer>(child, limitMs, options.mustEnd);
        if (answer !== undefined) idleTimers.set(child, setTimeout(endIdle, IDLE_MS, child).unref());
        return answer;
      }),
    close: () => {
      for (const child of processes) child.kill("SIGKILL");
    },
  };
}

function startProcess({ file, args, heapMb }: WorkerProcessesOptions): ChildProcess {
  const child = fork(file, args, {
    execArgv: [`--max-old-space-size=${heapMb}`],
    env: {}, // it must not have the server's secrets
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    // Node.js parses JSON in one turn, 118 ms of it for 9,900,000 control characters, which take 11 ms so.
    serialization: "advanced",
  });
  child.on("error", () => {}); // a failed start shows in the missing first message
  child.unref();
  child.channel?.unref();
  return child;
}

/** The next message; undefined if the process ends first, or does not answer in time and is killed. */
function nextMessage<Message>(
  child: ChildProcess,
  limitMs: number,
  mustEnd: WorkerProcessesOptions["mustEnd"],
): Promise<Message | undefined> {
  return new Promise((resolve) => {
    const sinceMs = performance.now();
    let isSettled = false;
    const settle = (message?: Message) => {
      isSettled = true;
      clearTimeout(limit);
      clearInterval(asking);
      child.off("message", settle).off("exit", giveUp);
      resolve(message);
    };
    const giveUp = () => {
      child.kill("SIGKILL");
      settle();
    };
    const limit = setTimeout(giveUp, limitMs);
    const asking = mustEnd && setInterval(ask, ASK_MS, mustEnd);
    async function ask(isOver: NonNullable<typeof mustEnd>) {
      if ((await isOver(performance.now() - sinceMs)) && !isSettled) giveUp();
    }
    child.once("message", settle).once("exit", giveUp);
  });
}
