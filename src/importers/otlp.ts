import { linesOf } from "../formats/jsonLines.ts";
import type { Entry, Importer } from "./entries.ts";
import { filesAt, recordsOf, refusingRest } from "./records.ts";

/** As much as `POST /v1/traces` takes; a batch of the Collector is one line. */
const MAX_LINE_CHARACTERS = 64 * 1024 * 1024;
const SIGNAL = /^\{\s*"resource(Spans|Logs|Metrics)"/;

/**
 * Reads what the `file` exporter of the OpenTelemetry Collector writes: a request of traces as JSON on each line, whatever the
 * file is called. A file in which one request takes many lines is read as well.
 */
export const otlp: Importer = async function* (path, onRead) {
  for (const { path: file } of await filesAt(path, (name) => !name.startsWith(".")))
    yield* refusingRest(file, ofFile(file, onRead));
};

async function* ofFile(file: string, onRead: (bytes: number) => void): AsyncGenerator<Entry> {
  yield* (await hasRequestOnLine(file)) ? ofLines(file, onRead) : ofDocument(file, onRead);
}

async function hasRequestOnLine(file: string): Promise<boolean> {
  for await (const { text } of linesOf({ path: file, onRead: () => {} }, MAX_LINE_CHARACTERS))
    return text === null || text.endsWith("}");
  return true;
}

async function* ofLines(file: string, onRead: (bytes: number) => void): AsyncGenerator<Entry> {
  for await (const { line, text } of linesOf({ path: file, onRead }, MAX_LINE_CHARACTERS)) {
    const signal = text === null ? undefined : SIGNAL.exec(text)?.[1];
    if (text === null) yield { kind: "refused", file, line, reason: "is longer than 64 MB" };
    else if (signal === "Logs") yield { kind: "leftOut", what: "lines of log records" };
    else if (signal === "Metrics") yield { kind: "leftOut", what: "lines of metrics" };
    else yield { kind: "spans", file, line, json: text };
  }
}

async function* ofDocument(file: string, onRead: (bytes: number) => void): AsyncGenerator<Entry> {
  for await (const record of recordsOf(file, { onRead, lists: ["resourceSpans"] })) {
    if ("kind" in record) yield record;
    else
      yield {
        kind: "spans",
        file,
        line: record.line,
        json: JSON.stringify({ resourceSpans: [record.value] }),
      };
  }
}
