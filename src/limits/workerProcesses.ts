import { type ChildProcess, fork } from "node:child_process";
import { createFairQueue } from "./fairQueue.ts";

export interface WorkerProcessesOptions {
  /** The module that they run. It sends "ready" once, and then one answer to each message. */
  file: URL;
  args?: string[];
  heapMb: number;
  /** The sentence for who is refused because too much of its workspace waits. */
  busy: string;
}

/** One works for one workspace, the other for all others meanwhile. */
const MAX_PROCESSES = 2;
const MAX_WAITING = 100;
const MAX_WAIT_MS = 5_000;
const START_LIMIT_MS = 30_000;
const IDLE_MS = 60_000;

/**
 * Processes beside the server for work that may take long or never end: unlike a thread, a process can be ended at any
 * moment, and takes nobody with it when it runs out of memory. They start when they are needed, and end when they are idle
 * for a minute. Workspaces take turns.
 */
export function createWorkerProcesses<Message extends object, Answer>(options: WorkerProcessesOptions) {
  const queue = createFairQueue({
    places: MAX_PROCESSES,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    busy: options.busy,
  });
  const started = new Set<ChildProcess>();
  const idle = new Map<ChildProcess, NodeJS.Timeout>();

  const start = async (): Promise<ChildProcess> => {
    const child = startProcess(options);
    started.add(child);
    child.once("exit", () => {
      started.delete(child);
      clearTimeout(idle.get(child));
      idle.delete(child);
    });
    if ((await nextMessage(child, START_LIMIT_MS)) !== undefined) return child;
    throw new Error(`The process of ${options.file.pathname} did not start.`);
  };

  const takeIdle = (): ChildProcess | undefined => {
    const [child, end] = [...idle].at(-1) ?? [];
    clearTimeout(end);
    if (child) idle.delete(child);
    return child;
  };

  return {
    /** The answer to a message; undefined when the process had to be ended, or ended by itself, before it gave one. */
    run: (workspaceId: string, message: Message, limitMs: number): Promise<Answer | undefined> =>
      queue.run(workspaceId, async () => {
        const child = takeIdle() ?? (await start());
        child.send(message, () => {}); // an error of sending is the end of the process, which is awaited below
        const answer = await nextMessage<Answer>(child, limitMs);
        if (answer !== undefined) idle.set(child, setTimeout(() => child.kill("SIGKILL"), IDLE_MS).unref());
        return answer;
      }),
    close: () => {
      for (const child of started) child.kill("SIGKILL");
    },
  };
}

function startProcess({ file, args, heapMb }: WorkerProcessesOptions): ChildProcess {
  const child = fork(file, args, {
    execArgv: [`--max-old-space-size=${heapMb}`],
    env: {}, // it has no business with the server's secrets
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.on("error", () => {}); // what could not be started is found by its missing first message
  child.unref();
  child.channel?.unref();
  return child;
}

/** Undefined if the process ended first, or did not answer in time: then it is made to end. */
function nextMessage<Message>(child: ChildProcess, limitMs: number): Promise<Message | undefined> {
  return new Promise((resolve) => {
    const settle = (message?: Message) => {
      clearTimeout(limit);
      child.off("message", settle).off("exit", giveUp);
      resolve(message);
    };
    const giveUp = () => {
      child.kill("SIGKILL");
      settle();
    };
    const limit = setTimeout(giveUp, limitMs);
    child.once("message", settle).once("exit", giveUp);
  });
}
