import type { ExecutionResult } from "graphql";
import type { Context } from "../context.ts";
import { runWithPauses } from "../database/pauses.ts";
import { writeJson } from "../limits/jsonText.ts";
import { authenticated } from "../workspaces/resolvers.ts";

/** A result that may know its text, which Yoga then takes. */
export interface WrittenResult extends ExecutionResult {
  stringify?: (presented: ExecutionResult) => string;
}

/** A result whose data has been written as JSON in turns of its workspace. */
export async function writtenInTurns(result: ExecutionResult, context: Context): Promise<WrittenResult> {
  const { workspaceId } = authenticated(context);
  await context.database.turn(workspaceId);
  const data = await runWithPauses(context, workspaceId, writeJson(result.data));
  const stringify = ({ errors, extensions }: ExecutionResult) => {
    const others = Object.entries({ errors, extensions }).filter(([, value]) => value !== undefined);
    return `{"data":${data}${others.map(([name, value]) => `,"${name}":${JSON.stringify(value)}`).join("")}}`;
  };
  return { ...result, stringify };
}
