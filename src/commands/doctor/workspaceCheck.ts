import { checkup, type Finding } from "../../analytics/checkup.resolvers.ts";
import type { Context } from "../../context.ts";
import { countRowsSince } from "../../datasets/arrivals.resolvers.ts";
import { countStartedSince } from "../../logs/arrivals.resolvers.ts";

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** A finding and its workspace; null when it concerns all of them. */
export interface WorkspaceFinding extends Finding {
  workspace: string | null;
}

export type WorkspaceCheckup = Awaited<ReturnType<typeof checkWorkspace>>;

/** The checkup of a workspace, and how much arrived: each number is one statement, which would stop a service. */
export async function checkWorkspace(context: Context, name: string) {
  const { lastTraceAt, findings, ...checked } = await checkup(context);
  const arrived = { ...(await countArrivals(context)), lastTraceAt };
  const named: WorkspaceFinding[] = findings.map((finding) => ({ workspace: name, ...finding }));
  const { tokens, rejected, unpricedModels } = checked;
  return { name, tokens, arrived, rejected, unpricedModels, findings: named };
}

async function countArrivals(context: Context) {
  const since = async (ms: number) => {
    const time = new Date(Date.now() - ms);
    return { ...(await countStartedSince(context, time)), datasetRows: await countRowsSince(context, time) };
  };
  return { lastHour: await since(HOUR_MS), lastDay: await since(DAY_MS) };
}
