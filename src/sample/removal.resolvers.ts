import type { Context } from "../context.ts";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { inTransaction } from "../database/transaction.ts";
import { deleteDataset } from "../datasets/authoring.resolvers.ts";
import { Dataset } from "../datasets/entities.ts";
import { Prompt } from "../prompts/entities.ts";
import { deletePrompt } from "../prompts/removal.resolvers.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { prompts } from "./prompts.ts";
import { SAMPLE_DATASET, SAMPLE_DATASET_NAME } from "./sample.ts";
import { SAMPLE_ENVIRONMENT } from "./spans.ts";

/**
 * Removes the sample from a workspace, with all that was added to its dataset and its prompts since, and returns how many of
 * its traces there were. The logs of other calls of the prompts stay, and so does what has a slug of the sample and another
 * name or description, as it is somebody's own.
 */
export async function removeSample(context: Context): Promise<number> {
  const dataset = await context.em.findOne(Dataset, { slug: SAMPLE_DATASET, name: SAMPLE_DATASET_NAME });
  if (dataset) await deleteDataset(context, dataset);
  for (const { slug, name, description } of prompts) {
    const prompt = await context.em.findOne(Prompt, { slug, name, description });
    if (prompt) await deletePrompt(context, prompt);
  }
  return removeTraces(context);
}

async function removeTraces(context: Context): Promise<number> {
  const workspaceId = authorize(context, "admin");
  const { read, write } = context.database;
  const traces = read
    .selectFrom("Trace")
    .select("id")
    .where("workspace", "=", workspaceId)
    .where("environment", "=", SAMPLE_ENVIRONMENT)
    .orderBy("id");
  const removal = write.deleteFrom("Trace").where("workspace", "=", workspaceId);
  let removed = 0;
  try {
    await deleteInBatches({
      find: (maxRows, after) => traces.where("id", ">", after).limit(maxRows).execute(),
      remove: async (ids) => {
        await retryWhileLocked(() => removal.where("id", "in", ids).execute());
        removed += ids.length;
      },
    });
  } finally {
    if (removed > 0) await recordRemoval(context, removed); // of what an error ended, too
  }
  return removed;
}

/** Not as `pruneTraces`, whose last entry is the last run of `retention`. */
const recordRemoval = (context: Context, removed: number) =>
  inTransaction(context.em, async (em) => {
    const after = { environment: SAMPLE_ENVIRONMENT, removed };
    recordChange(em, context, { action: "removeSample", subject: "traces", before: null, after });
  });
