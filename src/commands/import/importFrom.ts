import type { Context } from "../../context.ts";
import type { Entry } from "../../importers/entries.ts";
import { type ProductName, products } from "../../importers/importers.ts";
import { filesAt } from "../../importers/records.ts";
import { showProgress } from "../progress.ts";
import { createPromptStore, type PromptImport } from "./importedPrompts.ts";
import { createRowStore } from "./importedRows.ts";
import { createSpanStore } from "./importedSpans.ts";
import { createOutcome, type Outcome, reportOutcome } from "./importOutcome.ts";

export interface ImportFromOptions {
  dryRun?: true;
  moveTags?: true;
  json?: true;
}

/** Brings in what another product exported, and reports it, even when an error ends the import. Sets the exit code when something is refused. */
export async function importFrom(
  context: Context,
  product: ProductName,
  path: string,
  { dryRun, moveTags, json }: ImportFromOptions,
): Promise<void> {
  const run = dryRun ? "dry" : "real";
  const outcome = createOutcome();
  const report = () => reportOutcome(outcome, { dryRun: dryRun === true, json: json === true });
  try {
    await runImport(context, { product, path, run, tags: moveTags ? "moved" : "kept" }, outcome);
  } catch (error) {
    if (outcome.total() + outcome.refused() > 0) await report();
    throw error;
  }
  await report();
}

/** What to import, and whether to store it or only to count. */
export interface Import extends PromptImport {
  product: ProductName;
  path: string;
}

/**
 * Stores what another product exported; where an error ends the import, what was read before it. Everything keeps the id of its
 * source, so that an import that is repeated, or was killed and begins again, stores nothing twice.
 */
export async function runImport(
  context: Context,
  { product, path, ...how }: Import,
  outcome: Outcome,
): Promise<void> {
  const files = await filesAt(path, () => true);
  const progress = showProgress(files.reduce((sum, { bytes }) => sum + bytes, 0));
  const store = createStore(context, outcome, how);
  let read = 0;
  const onRead = (bytes: number) => {
    read += bytes;
  };
  try {
    const importer = await products[product].load();
    for await (const entry of importer(path, onRead)) {
      await store.put(entry);
      progress.report(read, outcome.total());
    }
  } catch (error) {
    await store.finish().catch(() => {}); // the first error says more than what follows from it
    progress.stop();
    throw error;
  }
  await store.finish().finally(progress.stop);
}

function createStore(context: Context, outcome: Outcome, { run, tags }: PromptImport) {
  const putPrompt = createPromptStore(context, outcome, { run, tags });
  const rows = createRowStore(context, outcome, run);
  const spans = createSpanStore(context, outcome, run);
  return {
    put: async (entry: Entry): Promise<void> => {
      if (entry.kind === "prompt") await putPrompt(entry);
      else if (entry.kind === "dataset") await rows.addDataset(entry);
      else if (entry.kind === "item") await rows.addItem(entry);
      else if (entry.kind === "spans") await spans.add(entry);
      else if (entry.kind === "refused") outcome.refuse(entry, entry.reason);
      else outcome.leaveOut(entry.what);
    },
    finish: async (): Promise<void> => {
      await rows.finish();
      await spans.finish();
    },
  };
}
