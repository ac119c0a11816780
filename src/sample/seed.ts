import type { Config } from "../config.ts";
import { isUniqueViolation } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { scopes } from "../scopes.ts";
import { newToken } from "../workspaces/tokens.resolvers.ts";
import { sampleRows } from "./sample.ts";

export const FIRST_WORKSPACE = "default";

/**
 * Fills a new database in one transaction: the workspace `default`, its first token and, if wanted, the sample.
 * Returns the token, or null when the database has a workspace already and keeps what it has.
 */
export async function seedDatabase(
  database: Database,
  { firstToken, sample }: Pick<Config, "firstToken"> & { sample: "with sample" | "empty" },
): Promise<string | null> {
  if (await database.read.selectFrom("Workspace").select("id").limit(1).executeTakeFirst()) return null;
  const workspaceId = newId();
  const { token, row } = newToken(
    workspaceId,
    { name: "first", scopes: [...scopes], expiresAt: null },
    firstToken ?? undefined,
  );
  const rows: Parameters<Database["commit"]>[0] = [
    ["Workspace", { id: workspaceId, name: FIRST_WORKSPACE, createdAt: new Date() }],
    ["AccessToken", row],
    ...(sample === "empty" ? [] : sampleRows(workspaceId)),
  ];
  try {
    await database.commit(rows);
  } catch (error) {
    if (isUniqueViolation(error)) return null; // another process filled it in the meantime
    throw error;
  }
  return token;
}
