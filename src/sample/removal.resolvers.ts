import type { Context } from "../context.ts";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { deleteDataset } from "../datasets/authoring.resolvers.ts";
import { GabbroError } from "../errors.ts";
import { deletePrompt } from "../prompts/removal.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { prompts } from "./prompts.ts";
import { SAMPLE_DATASET } from "./sample.ts";
import { SAMPLE_ENVIRONMENT } from "./spans.ts";

/**
 * Removes the sample from a workspace, with all that was added to its dataset and its prompts since, and returns how many of
 * its traces there were. The logs of other calls of the prompts stay.
 */
export async function removeSample(context: Context): Promise<number> {
  await ifThere(() => deleteDataset(context, { slug: SAMPLE_DATASET }));
  for (const { slug } of prompts) await ifThere(() => deletePrompt(context, { slug }));
  return removeTraces(context);
}

async function ifThere(remove: () => Promise<unknown>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!(error instanceof GabbroError && error.status === 404)) throw error;
  }
}

function removeTraces(context: Context): Promise<number> {
  const workspaceId = authorize(context, "admin");
  const { read, write } = context.database;
  const traces = read
    .selectFrom("Trace")
    .select("id")
    .where("workspace", "=", workspaceId)
    .where("environment", "=", SAMPLE_ENVIRONMENT)
    .orderBy("id");
  const removal = write.deleteFrom("Trace").where("workspace", "=", workspaceId);
  return deleteInBatches({
    find: (maxRows, after) => traces.where("id", ">", after).limit(maxRows).execute(),
    remove: (ids) => retryWhileLocked(() => removal.where("id", "in", ids).execute()),
  });
}
