import type { Context } from "../../context.ts";
import { GabbroError } from "../../errors.ts";
import type { ImportedSpans } from "../../importers/entries.ts";
import { importSpans } from "../../logs/importedSpans.resolvers.ts";
import { type FileSpan, readFileSpans } from "../../logs/otlp/fileSpans.ts";
import type { Outcome } from "./importOutcome.ts";

/** Spans that are stored together: a kill in the middle loses no more, and a repeated import stores these then. */
const MAX_GROUP_SPANS = 128;
const MAX_GROUP_BYTES = 1024 * 1024;

/** Stores spans of another product by the rules of `POST /v1/traces`. */
export function createSpanStore(context: Context, outcome: Outcome, run: "real" | "dry") {
  let group: FileSpan[] = [];
  let bytes = 0;

  const flush = async (): Promise<void> => {
    const spans = group.map(({ span }) => span);
    group = [];
    bytes = 0;
    outcome.count("spans", await importSpans(context, spans, run));
  };

  return {
    add: async (entry: ImportedSpans): Promise<void> => {
      let found = 0;
      try {
        for (const each of readFileSpans(entry.json)) {
          found += 1;
          if ("reason" in each) {
            outcome.refuse(entry, `span ${each.index + 1} of the line ${each.reason}`);
            continue;
          }
          group.push(each);
          bytes += each.bytes;
          if (group.length >= MAX_GROUP_SPANS || bytes >= MAX_GROUP_BYTES) await flush();
        }
        if (found === 0) outcome.refuse(entry, "has no spans");
      } catch (error) {
        if (!(error instanceof GabbroError) || error.code !== "BAD_REQUEST") throw error;
        outcome.refuse(entry, error.message.replace(/^The body /, ""));
      }
    },
    finish: flush,
  };
}
