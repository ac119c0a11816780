import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import cl100k from "gpt-tokenizer/encoding/cl100k_base";
import o200k from "gpt-tokenizer/encoding/o200k_base";
import r50k from "gpt-tokenizer/encoding/r50k_base";
import { describe, expect, test } from "vitest";
import { piecesOf } from "../../src/usage/pieces.ts";
import { countTexts } from "../../src/usage/token-worker.ts";
import { countTokens as countTokensOf, type Encoding, encodingOf } from "../../src/usage/tokens.ts";
import {
  type FindOwnPrice,
  type MeasuredCall,
  measureUsage as measureUsageOf,
} from "../../src/usage/usage.ts";

const MEGABYTE = 1_000_000;
const BIG = "a".repeat(MEGABYTE);
const NOW = new Date("2026-11-20T12:00:00Z");

const countTokens = (text: string, encoding: Encoding) => countTokensOf("ours", { text, encoding });
const measureUsage = (call: MeasuredCall) => measureUsageOf("ours", call);

const threads: Worker[] = [];
process.on("worker", (thread) => threads.push(thread));

/** The same numbers between 0 and 1 in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomText(alphabet: readonly string[], chars: number, seed = 1): string {
  const next = randomNumbers(seed);
  let text = "";
  while (text.length < chars) text += alphabet[Math.floor(next() * alphabet.length)];
  return text;
}

describe("counting tokens", () => {
  const encodings: Encoding[] = ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"];

  // The counts are those of OpenAI's own tiktoken (its WebAssembly build 1.0.22), which read each text as plain text.
  test.each([
    ["", [0, 0, 0, 0]],
    ["hello world", [2, 2, 2, 2]],
    ["Hello, world! How's it going?", [9, 9, 9, 9]],
    ["日本語のテキスト", [6, 8, 10, 10]],
    ["Пример русского текста", [4, 8, 23, 23]],
    ["👩‍👩‍👧 😀", [9, 14, 12, 12]],
    ["\tif (a) {\r\n\r\n    return 12345678901;\n  }", [15, 15, 21, 23]],
    ["don't DON'T l'été naïve", [6, 9, 10, 10]],
    ["<|endoftext|>", [7, 7, 7, 7]],
    ["நன்றி हिन्दी ไทย", [4, 17, 34, 34]],
  ])("%j has the tokens tiktoken counts, in each encoding", async (text, expected) => {
    expect(await Promise.all(encodings.map((encoding) => countTokens(text, encoding)))).toEqual(expected);
  });

  test("harmony counts as o200k_base does", async () => {
    const text = "Пример <|start|> 日本語";
    expect(await countTokens(text, "o200k_harmony")).toBe(await countTokens(text, "o200k_base"));
  });

  test.each<[string | null, Encoding]>([
    ["gpt-4o", "o200k_base"],
    ["gpt-4o-2024-08-06", "o200k_base"],
    ["gpt-4.1-mini", "o200k_base"],
    ["o3", "o200k_base"],
    ["gpt-4", "cl100k_base"],
    ["GPT-4", "cl100k_base"],
    ["gpt-4-32k-0613", "cl100k_base"],
    ["gpt-4-turbo-2024-04-09", "cl100k_base"],
    ["gpt-3.5-turbo-16k", "cl100k_base"],
    ["gpt-35-turbo", "cl100k_base"],
    ["ft:gpt-3.5-turbo-0613:acme::8a9b", "cl100k_base"],
    ["openai/gpt-4", "cl100k_base"],
    ["text-embedding-3-small", "cl100k_base"],
    ["text-davinci-003", "p50k_base"],
    ["code-davinci-edit-001", "p50k_base"],
    ["davinci", "r50k_base"],
    ["gpt2", "r50k_base"],
    ["gpt-oss-120b", "o200k_harmony"],
    ["gpt-oss:20b", "o200k_harmony"],
    ["claude-sonnet-4-20250514", "o200k_base"],
    ["gemini-2.5-pro", "o200k_base"],
    ["constructor", "o200k_base"],
    ["", "o200k_base"],
    [null, "o200k_base"],
  ])("model %s is counted with %s", (model, encoding) => {
    expect(encodingOf(model)).toBe(encoding);
  });

  test("the encoding of a name of a megabyte is found", () => {
    expect(encodingOf("-a".repeat(MEGABYTE / 2))).toBe("o200k_base");
  });

  const words =
    "The DON'T don't 's 'LL ' '' a ab B é e\u0301 \u0301 ा நன்றி हिन्दी ไทย 日 本語 。 か\u3099 한국 😀 👩‍👩‍👧 ❤️ \ud83d 1 22 4444 ٣ ½ . ... / // - — ! { } <|endoftext|>".split(
      " ",
    );
  const gaps = [" ", "  ", "    ", "\n", "\r\n", "\n\n  ", "\t", " \n", "\u00a0", "\u3000"];
  const library = { o200k_base: o200k, cl100k_base: cl100k, r50k_base: r50k };

  test.each(Object.entries(library))("%s: the counts of the pieces add up to the whole", (_, tokenizer) => {
    const asPlainText = { disallowedSpecial: new Set<string>() };
    for (let seed = 1; seed <= 25; seed++) {
      const next = randomNumbers(seed);
      const alphabet = [...words, ...gaps].filter(() => next() < 0.5);
      const text = randomText(alphabet.concat("word "), 20_000, seed);
      const pieces = [...piecesOf(text)];
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.join("")).toBe(text);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(256); // longer ones have others wait
      const whole = tokenizer.countTokens(text, asPlainText);
      const sum = pieces.reduce((total, piece) => total + tokenizer.countTokens(piece, asPlainText), 0);
      expect(sum, `seed ${seed}`).toBe(whole);
    }
  });

  test("no cut parts the halves of a character", () => {
    for (const offset of ["", "a"]) {
      const pieces = [...piecesOf(offset + "😀".repeat(1000))];
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    }
  });

  const base64 = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"];
  const accents = base64.slice(26, 52).map((letter) => `${letter}\u0301`);
  const emoji = Array.from({ length: 80 }, (_, i) => String.fromCodePoint(0x1f600 + i));

  // The order matters: after base64 the library's cache of rare words would be full, and accents would take minutes.
  test.each<[string, Encoding, string, [min: number, max: number]]>([
    ["one letter", "o200k_base", BIG, [125_000, 125_000]],
    ["spaces", "o200k_base", " ".repeat(MEGABYTE), [1_000, 20_000]],
    ["digits", "r50k_base", "7".repeat(MEGABYTE), [250_000, 1_000_000]],
    ["special tokens", "o200k_base", "<|endoftext|>".repeat(MEGABYTE / 10), [600_000, 800_000]],
    ["emoji", "o200k_base", randomText(emoji, MEGABYTE), [500_000, 1_600_000]],
    ["base64", "r50k_base", randomText(base64, MEGABYTE), [600_000, 800_000]],
    ["accents", "r50k_base", randomText(accents, MEGABYTE), [1_300_000, 1_700_000]],
  ])("a megabyte of %s is counted with %s", async (_, encoding, text, [min, max]) => {
    const tokens = await countTokens(text, encoding);
    expect(tokens).toBeGreaterThanOrEqual(min);
    expect(tokens).toBeLessThanOrEqual(max);
  });
});

describe("the counting thread", () => {
  const small = "A small text.";

  test.each([
    ["to the thread", (text: string) => countTokens(text, "o200k_base")],
    ["inside the thread", (text: string) => countTexts([{ text, encoding: "o200k_base" }])],
    ["as calls", (input: string) => measureUsage({ model: null, input, output: null, at: NOW })],
  ])("a small text sent %s after a megabyte is counted first", async (_, count) => {
    await count(small);
    const settled: string[] = [];
    await Promise.all([
      count(BIG).then(() => settled.push("big")),
      count(small).then(() => settled.push("small")),
      setImmediate().then(() => count(small).then(() => settled.push("later"))),
    ]);
    expect(settled.at(-1)).toBe("big");
  });

  test("a long text is counted before most of 40 long ones that another workspace sent first", async () => {
    const count = (workspaceId: string) => countTokensOf(workspaceId, { text: BIG, encoding: "o200k_base" });
    await countTokens(small, "o200k_base");
    let counted = 0;
    const greedy = Array.from({ length: 40 }, () => count("greedy").then(() => (counted += 1)));
    expect(await count("modest")).toBe(125_000);
    expect(counted).toBeLessThan(13);
    await Promise.all(greedy);
  });

  test("a megabyte is counted with the processor time of the thread, not of the main one", async () => {
    await countTokens(small, "o200k_base");
    const [wholeBefore, mainBefore] = [process.cpuUsage(), process.threadCpuUsage()];
    expect(await countTokens(BIG, "o200k_base")).toBe(125_000);
    const whole = process.cpuUsage(wholeBefore).user;
    expect(process.threadCpuUsage(mainBefore).user).toBeLessThan(whole / 3);
  });

  test("texts sent together are each answered with their own count", async () => {
    const words = Array.from({ length: 300 }, (_, i) => (i % 100 === 50 ? 70_000 : i % 7));
    const counts = words.map((length) => countTokens(" word".repeat(length), "o200k_base"));
    expect(await Promise.all(counts)).toEqual(words);
  });

  test.each(["counting", "starting"])(
    "a thread that dies while %s fails its counts, the next one works",
    async (when) => {
      await countTokens(small, "o200k_base");
      const failed = countTokens(BIG.repeat(20), "o200k_base");
      const rejection = expect(failed).rejects.toThrow(/^The tokens could not be counted: .*\. Try again/);
      await countTokens(small, "o200k_base");
      await threads.at(-1)?.terminate();
      await rejection;
      if (when === "starting") {
        const started = once(process, "worker");
        const early = countTokens(small, "o200k_base");
        const earlyRejection = expect(early).rejects.toThrow(
          /^The tokens could not be counted: .*\. Try again/,
        );
        await started;
        await threads.at(-1)?.terminate();
        await earlyRejection;
      }
      expect(await countTokens("hello world", "o200k_base")).toBe(2);
    },
  );

  test("a script that counts ends by itself", async () => {
    const script = `
      import { countTokens } from ${JSON.stringify(import.meta.resolve("../../src/usage/tokens.ts"))};
      console.log(await countTokens("ours", { text: "hello world", encoding: "o200k_base" }));`;
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    expect((await run).stdout).toBe("2\n");
  });
});

describe("measuring usage", () => {
  const gpt4o = { provider: "openai", model: "gpt-4o" };
  const measure = (call: Partial<MeasuredCall>) =>
    measureUsage({ model: gpt4o, input: "hello world", output: "hi", at: NOW, ...call });

  // gpt-4o costs 2.50 US dollars a million tokens of input and 10 of output.
  test.each<[string, Partial<MeasuredCall>, unknown[]]>([
    ["counts and cost are computed when nothing is reported", {}, [2, 1, 0.000015, "COMPUTED"]],
    [
      "null is not a report",
      { inputTokens: null, outputTokens: null, cost: null },
      [2, 1, 0.000015, "COMPUTED"],
    ],
    ["reported counts win", { inputTokens: 1000, outputTokens: 500 }, [1000, 500, 0.0075, "COMPUTED"]],
    ["one reported count wins", { inputTokens: 1000 }, [1000, 1, 0.00251, "COMPUTED"]],
    ["a reported cost wins", { cost: 0.5 }, [2, 1, 0.5, "REPORTED"]],
    ["all reported is kept", { inputTokens: 7, outputTokens: 8, cost: 9 }, [7, 8, 9, "REPORTED"]],
    ["a reported 0 stays 0", { inputTokens: 0, outputTokens: 0, cost: 0 }, [0, 0, 0, "REPORTED"]],
    ["one reported 0 stays 0", { inputTokens: 0 }, [0, 1, 0.00001, "COMPUTED"]],
    ["no tokens cost nothing", { inputTokens: 0, outputTokens: 0 }, [0, 0, 0, "COMPUTED"]],
    ["an absent input has no count and no cost", { input: undefined }, [null, 1, null, "UNPRICED"]],
    ["a null input has no count and no cost", { input: null }, [null, 1, null, "UNPRICED"]],
    ["an absent output has no count and no cost", { output: undefined }, [2, null, null, "UNPRICED"]],
    ["an absent input can be reported", { input: null, inputTokens: 3 }, [3, 1, 0.0000175, "COMPUTED"]],
    ["an empty text has 0 tokens", { input: "" }, [0, 1, 0.00001, "COMPUTED"]],
    ["JSON is counted in its compact form", { input: { a: [1, "b"] } }, [8, 1, 0.00003, "COMPUTED"]],
    ["false and 0 are JSON too", { input: false, output: 0 }, [1, 1, 0.0000125, "COMPUTED"]],
    ["no model, no price", { model: null }, [2, 1, null, "UNPRICED"]],
    [
      "the model decides the encoding",
      { model: { provider: "openai", model: "gpt-4" }, input: "日本語のテキスト" },
      [8, 1, 0.0003, "COMPUTED"],
    ],
    [
      "an unknown model has no price",
      { model: { provider: "openai", model: "nope" } },
      [2, 1, null, "UNPRICED"],
    ],
    ["a negative count has no price", { inputTokens: -1 }, [-1, 1, null, "UNPRICED"]],
    [
      "an impossible time has no price",
      { model: { provider: "openai", model: "o3" }, at: new Date(Number.NaN) },
      [2, 1, null, "UNPRICED"],
    ],
  ])("%s", async (_, call, [inputTokens, outputTokens, cost, costSource]) => {
    const parts = { cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null };
    expect(await measure(call)).toEqual({ ...parts, inputTokens, outputTokens, cost, costSource });
  });

  test.each<[string, Partial<MeasuredCall>, number, unknown[]]>([
    ["a cost is to be computed", {}, 1, [0.00005, "COMPUTED"]],
    [
      "a cost is to be computed from reported counts",
      { inputTokens: 3, outputTokens: 0 },
      1,
      [0.00003, "COMPUTED"],
    ],
    ["the cost is reported", { cost: 0 }, 0, [0, "REPORTED"]],
    ["there is no model", { model: null }, 0, [null, "UNPRICED"]],
    ["a count is missing", { input: null }, 0, [null, "UNPRICED"]],
  ])("an own price wins, and is asked for only when one is needed: %s", async (_, call, times, costs) => {
    const asked: unknown[] = [];
    const findOwnPrice: FindOwnPrice = async (...about) => {
      asked.push(about);
      return { inputPrice: 10, outputPrice: 30 };
    };
    const { cost, costSource } = await measure({ ...call, findOwnPrice });
    expect([cost, costSource]).toEqual(costs);
    expect(asked).toEqual(Array(times).fill([gpt4o, NOW]));
  });

  test("without an own price that of the list holds", async () => {
    const usage = await measure({ findOwnPrice: async () => null });
    expect(usage).toMatchObject({ cost: 0.000015, costSource: "COMPUTED" });
  });

  test("a call that reports everything is answered at once and starts no thread", async () => {
    await threads.at(-1)?.terminate();
    const before = threads.length;
    let answered = false;
    measure({ inputTokens: 7, outputTokens: 8, cost: 9 }).then(() => {
      answered = true;
    });
    await null;
    expect(answered).toBe(true);
    await setImmediate();
    expect(threads.length).toBe(before);
  });
});

describe("the price of 1,000 tokens of input and 1,000 of output", () => {
  const priceOf = async (provider: string | null, model: string, at = NOW) =>
    (
      await measureUsage({
        model: { provider, model },
        input: "",
        output: "",
        inputTokens: 1000,
        outputTokens: 1000,
        at,
      })
    ).cost;

  test.each<[string | null, string, number | null]>([
    ["openai", "gpt-4o", 0.0125],
    ["OpenAI", "gpt-4o", 0.0125],
    ["open-ai", "gpt-4o", 0.0125],
    ["Open AI", "gpt-4o-2024-08-06", 0.0125],
    ["openai", "gpt-4o-mini", 0.00075],
    ["open-ai", "text-embedding-3-small", 0.00002],
    ["azure-openai", "gpt-4o", 0.0125],
    ["azure_openai", "phi-4", 0.00021],
    ["Azure AI", "phi-4", 0.00021],
    ["azure_openai", "gpt-35-turbo", 0.002],
    ["azure", "gpt-35-turbo", 0.002],
    ["anthropic", "claude-3-5-sonnet-20241022", 0.018],
    ["Claude", "claude-3-5-sonnet-20241022", 0.018],
    ["anthropic", "3-haiku", 0.0015],
    ["anthropic", "3.5-sonnet", 0.018],
    ["Anthropic", "4-opus", 0.09],
    ["anthropic", "4.5-haiku", 0.006],
    ["anthropic", "9.9-sonnet", null],
    ["openai", "3.5-sonnet", null],
    ["aws-bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0", 0.018],
    ["gemini", "gemini-2.0-flash", 0.0005],
    ["google", "gemini-2.0-flash", 0.0005],
    ["vertex-ai", "gemini-2.0-flash", 0.0005],
    ["mistral-ai", "mistral-large-latest", 0.008],
    ["Together AI", "Gryphe/MythoMax-L2-13b", 0.0006],
    ["togetherai", "Gryphe/MythoMax-L2-13b", 0.0006],
    ["novita.ai", "Sao10K/L3-8B-Stheno-v3.2", 0.0001],
    ["Open Router", "ai21/jamba-1.6-large", 0.01],
    ["perplexity-ai", "sonar", 0.014],
    ["deepseek-ai", "deepseek-reasoner", 0.00274],
    ["grok", "grok-4", 0.018],
    ["my-gateway", "gpt-4o", 0.0125],
    ["my-gateway", "openai/gpt-4o", 0.0125],
    ["", "gpt-4o", 0.0125],
    [null, "gpt-4o", 0.0125],
    [null, "claude-sonnet-4-20250514", 0.018],
    [null, "nope", null],
    ["my-gateway", "nope", null],
    ["anthropic", "gpt-4o", null],
    ["constructor", "__proto__", null],
    ["openai", "", null],
    // These are in the list, billed by the hour or without any price.
    ["openai", "whisper-1", null],
    ["google", "gemma-3", null],
  ])("from %s for %s is %s US dollars", async (provider, model, cost) => {
    expect(await priceOf(provider, model)).toBe(cost);
    expect(await priceOf(provider, model), "the second time").toBe(cost);
  });

  test("is that of the day of the call", async () => {
    for (const [day, cost] of [
      ["2025-05-01", 0.05],
      ["2026-01-01", 0.01],
      ["2025-05-01", 0.05],
    ] as const)
      expect(await priceOf("openai", "o3", new Date(day))).toBe(cost);
  });

  test("asks no network", async () => {
    let sockets = 0;
    const count = () => sockets++;
    subscribe("net.client.socket", count);
    await priceOf("openai", "gpt-4.1");
    await priceOf("nobody", "nothing");
    unsubscribe("net.client.socket", count);
    expect(sockets).toBe(0);
  });

  test("follows the tiers of long prompts from call to call", async () => {
    const call = {
      model: { provider: "google", model: "gemini-2.5-pro" },
      input: "",
      output: "",
      outputTokens: 0,
      at: NOW,
    };
    const costs = [];
    for (const inputTokens of [100_000, 1_000_000, 100_000])
      costs.push((await measureUsage({ ...call, inputTokens })).cost);
    expect(costs).toEqual([0.125, 2.5, 0.125]);
  });
});
