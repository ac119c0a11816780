import { fileURLToPath } from "node:url";
import DataLoader from "dataloader";
import { modelToEncodingMap } from "gpt-tokenizer/mapping";
import type { Piscina } from "piscina";
import { createFairQueue } from "../limits/fairQueue.ts";
import type { countTexts, EncodedText, Encoding } from "./token-worker.ts";

export type { EncodedText, Encoding } from "./token-worker.ts";

/**
 * Counts the tokens of a text in a worker, which starts at the first count and ends ten minutes after the last. Special
 * tokens such as `<|endoftext|>` count as plain text. Where more than 256 characters hold no place to cut, the count may
 * differ by a token or so per 256. Rejects if the worker dies; the next count starts another. Workspaces take turns,
 * whatever the length of their texts.
 */
export async function countTokens(workspaceId: string, text: EncodedText): Promise<number> {
  return counts.load({ workspaceId, ...text });
}

/** Starts the worker and loads the table that most models share, so that the first count is as fast as later ones. */
export async function warmTokenizer(): Promise<void> {
  await countTokens("", { text: "a", encoding: DEFAULT_ENCODING });
}

/** Gives a close estimate for models without a public tokenizer (Claude, Gemini, Llama, ...). */
export const DEFAULT_ENCODING: Encoding = "o200k_base";

/**
 * The encoding of a model by `gpt-tokenizer`'s list of models. Dates and other endings, fine-tunings ("ft:...") and
 * a provider before a slash are ignored.
 */
export function encodingOf(model: string | null): Encoding {
  const full = (model ?? "").toLowerCase();
  let name = full
    .slice(full.lastIndexOf("/") + 1)
    .replace(/^ft:/, "")
    .replace(/^gpt-35/, "gpt-3.5");
  if (name.startsWith("gpt-oss")) return "o200k_harmony";
  name = name.slice(0, MAX_NAME_CHARS);
  while (name !== "") {
    const encoding = ENCODINGS.get(name);
    if (encoding) return encoding;
    name = name.slice(0, Math.max(0, name.search(/[-:@][^-:@]*$/)));
  }
  return DEFAULT_ENCODING;
}

/** Longer than any name in the list. */
const MAX_NAME_CHARS = 64;
const VARIANTS: Record<string, Encoding> = { gpt2: "r50k_base", p50k_edit: "p50k_base" };
const ENCODINGS = new Map(
  Object.entries(modelToEncodingMap).map(([model, name]) => [model, VARIANTS[name] ?? (name as Encoding)]),
);

/** Texts of one tick share messages of up to this length; a longer text has its own, so that no other text waits for it. */
const MESSAGE_CHARS = 65_536;

interface OwnedText extends EncodedText {
  workspaceId: string;
}

const counts = new DataLoader<OwnedText, Promise<number>>(
  async (texts) =>
    toMessages(texts).flatMap(({ workspaceId, texts }) => {
      const answer = queue.run(workspaceId, () => runInWorker(texts));
      return texts.map((_, i) => answer.then((tokens) => tokens[i]!));
    }),
  { cache: false },
);

interface Message {
  workspaceId: string;
  texts: EncodedText[];
}

function toMessages(texts: readonly OwnedText[]): Message[] {
  const messages: Message[] = [];
  let room = -1;
  for (const { workspaceId, ...text } of texts) {
    if (text.text.length > room || workspaceId !== messages.at(-1)?.workspaceId) {
      messages.push({ workspaceId, texts: [] });
      room = MESSAGE_CHARS;
    }
    messages.at(-1)!.texts.push(text);
    room -= text.text.length;
  }
  return messages;
}

/** Messages that share the thread, in slices: eight of one workspace delay each slice of another by 32 ms, or 70 where words are long. */
const MAX_MESSAGES = 16;
const MAX_WAITING = 1_000;
/** Longer than any request waits for its answer. */
const MAX_WAIT_MS = 30_000;

const queue = createFairQueue({
  places: MAX_MESSAGES,
  maxWaiting: MAX_WAITING,
  maxWaitMs: MAX_WAIT_MS,
  busy: "Too many texts wait for their tokens to be counted. Try again in a while, or report the counts.",
});

async function runInWorker(texts: EncodedText[]): ReturnType<typeof countTexts> {
  pool ??= startPool();
  try {
    return await (await pool).run(texts);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The tokens could not be counted: ${reason}. Try again, or report the counts.`, {
      cause,
    });
  }
}

/** A restart delays the next log by 0.2 s; an idle worker takes 100 MB. */
const IDLE_MS = 600_000;

let pool: Promise<Piscina> | undefined;

async function startPool(): Promise<Piscina> {
  const { Piscina } = await import("piscina");
  const newPool = new Piscina({
    filename: fileURLToPath(new URL("./token-worker.ts", import.meta.url)),
    name: "countTexts",
    minThreads: 0,
    maxThreads: 1,
    concurrentTasksPerWorker: MAX_MESSAGES,
    idleTimeout: IDLE_MS,
    recordTiming: false,
    // V8 keeps the memory of an ended thread: this bound saves 80 MB after 10 MB of base64.
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  // A pool lives as long as its one thread. Messages that wait for a thread which dies while it starts would get no
  // answer; destroying the pool rejects them.
  newPool.on("workerDestroy", () => {
    pool = undefined;
    queueMicrotask(() => newPool.destroy());
  });
  newPool.on("error", () => {}); // A thread that dies between two counts must not end the process.
  return newPool;
}
