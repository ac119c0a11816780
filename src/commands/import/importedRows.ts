import type { Context } from "../../context.ts";
import type { DatasetRowInput } from "../../datasets/inputs.ts";
import { type ErrorDetail, GabbroError, quoted } from "../../errors.ts";
import type { ImportedDataset, ImportedItem } from "../../importers/entries.ts";
import { jsonSize } from "../../limits/jsonSize.ts";
import type { Outcome } from "./importOutcome.ts";
import { openTarget, type Target } from "./target.ts";
import { validateRow } from "./validateRow.ts";

const MAX_PORTION_ROWS = 1_000;
const MAX_PORTION_CHARACTERS = 500_000;

/** Rows that are stored together, in one version of their dataset. */
interface Portion {
  slug: string;
  target: Target;
  rows: DatasetRowInput[];
  characters: number;
}

/** Stores datasets of another product: each is created when it is missing, and takes columns that it lacks. */
export function createRowStore(context: Context, outcome: Outcome, run: "real" | "dry") {
  const opened = new Map<string, { name: string; target: Target }>();
  let portion: Portion | undefined;

  const open = async ({ slug, name, columns }: Pick<ImportedDataset, "slug" | "name" | "columns">) => {
    const known = opened.get(slug);
    if (known && known.name !== name)
      throw new GabbroError("BAD_INPUT", `has the slug ${quoted(slug)} of dataset ${quoted(known.name)}`);
    if (known) return known.target;
    const dryRun = run === "dry" ? ({ dryRun: true } as const) : {};
    const target = await openTarget(context, { slug, newColumns: "added", ...dryRun });
    await target.expect({ name, columns: columns ?? null });
    opened.set(slug, { name, target });
    outcome.count("datasets", target.isNew ? { added: 1 } : { unchanged: 1 });
    return target;
  };

  const flush = async (): Promise<void> => {
    const { target, rows } = portion ?? {};
    portion = undefined;
    if (!target || !rows) return;
    const before = { ...target.counts };
    await target.put(rows);
    const { added, changed, unchanged } = target.counts;
    outcome.count("rows", {
      added: added - before.added,
      changed: changed - before.changed,
      unchanged: unchanged - before.unchanged,
    });
  };

  return {
    addDataset: async (dataset: ImportedDataset): Promise<void> => {
      await refusing(outcome, dataset, () => open(dataset));
    },
    addItem: async (item: ImportedItem): Promise<void> => {
      const result = validateRow({ item: item.row, details: [] }, undefined);
      if ("details" in result) return refuseRow(outcome, item, result.details);
      const { input } = result;
      const { slug } = item.dataset;
      if (portion && portion.slug !== slug) await flush();
      const target = await refusing(outcome, item, () => open(item.dataset));
      if (!target) return;
      portion ??= { slug, target, rows: [], characters: 0 };
      portion.rows.push(input);
      portion.characters += jsonSize(input, MAX_PORTION_CHARACTERS);
      const { rows, characters } = portion;
      if (rows.length >= MAX_PORTION_ROWS || characters >= MAX_PORTION_CHARACTERS) await flush();
    },
    /** Stores what is left, and creates datasets without rows. */
    finish: async (): Promise<void> => {
      await flush();
      for (const [slug, { target }] of opened) {
        await target.finish();
        for (const column of target.omitted)
          outcome.leaveOut(`column ${quoted(column)} of dataset ${quoted(slug)}, which has too many`);
      }
    },
  };
}

function refuseRow(outcome: Outcome, item: ImportedItem, [detail]: ErrorDetail[]): void {
  const reason = `${detail?.path} ${detail?.message}`.trim();
  outcome.refuse(item, `row ${quoted(item.row.key ?? "")}: ${reason}`);
}

async function refusing<T>(
  outcome: Outcome,
  place: ImportedItem | ImportedDataset,
  run: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof GabbroError) || error.code !== "BAD_INPUT") throw error;
    outcome.refuse(place, error.message);
    return undefined;
  }
}
