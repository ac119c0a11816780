import type { Config } from "../config.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { Dataset } from "../datasets/entities.ts";
import { GabbroError } from "../errors.ts";
import { Prompt } from "../prompts/entities.ts";
import { scopes } from "../scopes.ts";
import { AccessToken } from "../workspaces/entities.ts";
import { FIRST_WORKSPACE } from "../workspaces/firstWorkspace.ts";
import { contextWithoutToken, createWorkspace } from "../workspaces/resolvers.ts";
import { newToken } from "../workspaces/tokens.resolvers.ts";
import { sampleRows } from "./sample.ts";
import { addSampleTraces } from "./traces.ts";

interface SeedOptions extends Pick<Config, "firstToken"> {
  sample: "with sample" | "empty";
  /** Receives the failure of the traces of the sample; without it the failure is thrown. */
  reportFailure?: (error: unknown) => void;
}

interface Seeded {
  /** The first access token, which is returned only now. */
  token: string;
  workspaceId: string;
  hasSample: boolean;
}

/**
 * Fills a new database with the workspace `default`, its first token and, unless `sample` is "empty", the sample without
 * its month of traces. Returns null and changes nothing when there is a token or another workspace.
 */
export async function seedDatabase(
  database: Database,
  { firstToken, sample, reportFailure }: SeedOptions,
): Promise<Seeded | null> {
  await addFirstWorkspace(database);
  const workspaces = await database.read.selectFrom("Workspace").select(["id", "name"]).limit(2).execute();
  const [workspace] = workspaces;
  if (workspaces.length !== 1 || workspace?.name !== FIRST_WORKSPACE) return null;
  if (await hasToken(database, workspace.id)) return null; // without a transaction, as the disk may be full
  const { token, row } = newToken(
    workspace.id,
    { name: "first", scopes: [...scopes], expiresAt: null },
    firstToken ?? undefined,
  );
  const seed = async (em: EntityManager) => {
    if ((await em.count(AccessToken)) > 0) return null;
    const isInUse = (await em.count(Prompt)) > 0 || (await em.count(Dataset)) > 0;
    const content = sample === "empty" || isInUse ? [] : sampleRows(workspace.id);
    await database.insertWithin(em, [["AccessToken", row], ...content]);
    return { token, workspaceId: workspace.id, hasSample: content.length > 0 };
  };
  const seeded = await inTransaction(database.fork(workspace.id), seed, "own reads");
  if (seeded?.hasSample) {
    const adding = addSampleTraces(contextWithoutToken(database, workspace.id, "sample"), Date.now());
    await (reportFailure ? adding.catch(reportFailure) : adding); // the token is stored, and returned only now
  }
  return seeded;
}

async function hasToken(database: Database, workspaceId: string): Promise<boolean> {
  const tokens = database.read.selectFrom("AccessToken").select("id").where("workspace", "=", workspaceId);
  return (await tokens.limit(1).executeTakeFirst()) !== undefined;
}

/** Creates the workspace `default` when there is no workspace; returns whether it did. */
export async function addFirstWorkspace(database: Database): Promise<boolean> {
  if (await database.read.selectFrom("Workspace").select("id").limit(1).executeTakeFirst()) return false;
  try {
    await createWorkspace(database, FIRST_WORKSPACE);
    return true;
  } catch (error) {
    if (error instanceof GabbroError && error.code === "CONFLICT") return false; // another process was faster
    throw error;
  }
}
