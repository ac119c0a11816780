import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { createFinder } from "../database/loader.ts";
import { inTransaction } from "../database/transaction.ts";
import { idOf } from "../validation/text.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { Experiment } from "./entities.ts";
import type { ExperimentRecord } from "./traces.inputs.ts";

/** Creates an experiment, whose id traces name. */
export async function createExperiment(context: Context, record: ExperimentRecord): Promise<Experiment> {
  const workspace = authorize(context, "write");
  return inTransaction(context.em, async (em) =>
    em.create(Experiment, { ...record, id: newId(), workspace, createdAt: new Date() }),
  );
}

const findById = createFinder((context, ids: string[]) => {
  authenticated(context); // any scope: a trace sent with a write token may name an experiment
  return context.em.find(Experiment, { id: { $in: ids } });
});

const experimentId = idOf("an experiment");

/** The experiment with an id as a client names it; null when the workspace has none. */
export async function findExperiment(context: Context, id: string): Promise<Experiment | null> {
  const parsed = experimentId.safeParse(id);
  return parsed.success ? findById(context, parsed.data) : null;
}
