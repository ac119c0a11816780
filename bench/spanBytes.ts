import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import type { Claim } from "./claim.ts";
import { headers, start } from "./processes.ts";
import { batchOf, message, SPANS, SPANS_IN_TRACE, send, text } from "./spans.ts";

const BATCHES = 20;
const LOGS = BATCHES * SPANS;
const CALLERS = 16;
const MAX_RATIO = 1.25;

/** What logs take with their traces, their words and all indexes. */
const TABLES = ["logs", "log_texts", "traces", "sqlite_autoindex_logs", "sqlite_autoindex_traces"];

async function logByRest(url: string): Promise<void> {
  let left = LOGS;
  const call = async () => {
    while (left-- > 0) {
      const startMs = Date.now();
      const log = {
        ...{ name: "chat gpt-4o-mini", provider: "openai", model: "gpt-4o-mini", slug: "chat" },
        ...{ inputTokens: 100, outputTokens: 10 },
        ...{ input: message("user", text(600)), output: message("assistant", text(400)) },
        ...{ startTime: new Date(startMs).toISOString(), endTime: new Date(startMs + 7).toISOString() },
      };
      const answer = await fetch(`${url}/monitor/log`, {
        method: "POST",
        headers,
        body: JSON.stringify(log),
      });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}

const sendSpans = (url: string) =>
  send(
    url,
    Array.from({ length: BATCHES }, () => batchOf()),
  );

/** Bytes on disk of each log that is stored in a file of its own. */
async function bytesAfter(folder: string, store: (url: string) => Promise<void>): Promise<number> {
  const file = join(folder, "bytes.sqlite");
  await copyFile(join(folder, "prepared.sqlite"), file);
  const running = await start("gabbro", file);
  try {
    await store(running.url);
  } finally {
    await running.stop();
  }
  const database = new BetterSqlite3(file);
  try {
    const [{ logs }] = database.prepare("select count(*) as logs from logs").all() as [{ logs: number }];
    if (logs !== LOGS) throw new Error(`${logs} logs were stored, not ${LOGS}.`);
    const sizes = database.prepare("select name, sum(pgsize) as bytes from dbstat group by name").all() as {
      name: string;
      bytes: number;
    }[];
    const ofLogs = sizes.filter(({ name }) => TABLES.some((table) => name.startsWith(table)));
    return ofLogs.reduce((sum, { bytes }) => sum + bytes, 0) / logs;
  } finally {
    database.close();
  }
}

export const bytesOfSpan: Claim = {
  name: `bytes on disk of a span of 1.4 kB with its words, ${SPANS_IN_TRACE} in a trace, beside a log by POST /monitor/log of the same content`,
  wanted: `at most ${MAX_RATIO} times`,
  measure: async (folder) => {
    const log = await bytesAfter(folder, logByRest);
    const span = await bytesAfter(folder, sendSpans);
    const measured = `${(span / log).toFixed(2)} times (${Math.round(span)} and ${Math.round(log)} bytes)`;
    return { measured, isMet: span <= MAX_RATIO * log };
  },
};
