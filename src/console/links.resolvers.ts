import { randomBytes } from "node:crypto";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { unauthenticated } from "../workspaces/resolvers.ts";
import { hashToken } from "../workspaces/tokens.ts";

export const LINK_MS = 24 * 60 * 60 * 1_000;
const CODE_BYTES = 32;

/** Makes the code of a link that signs in once with a token, within a day. The code is returned only now. */
export async function createSignInLink(database: Database, token: string): Promise<string> {
  const { id, workspace } = await database.read
    .selectFrom("AccessToken")
    .select(["id", "workspace"])
    .where("hash", "=", hashToken(token))
    .executeTakeFirstOrThrow();
  const code = randomBytes(CODE_BYTES).toString("base64url");
  const row = { id: newId(), workspace, token: id, hash: hashToken(code), createdAt: new Date() };
  await database.commit([["SignInLink", row]]);
  return code;
}

/** The token that a code signs in with; UNAUTHENTICATED when it was used, has expired, or was never made. */
export async function findSignInLink(database: Database, code: string) {
  const link = await database.read
    .selectFrom("SignInLink")
    .select(["hash", "token"])
    .where("hash", "=", hashToken(code))
    .where("createdAt", ">", new Date(Date.now() - LINK_MS))
    .executeTakeFirst();
  if (!link) throw usedLink();
  return link;
}

export function usedLink() {
  const message =
    "This link was used already, or is older than a day. Sign in with an access token: gabbro token create --name NAME makes one.";
  return unauthenticated(message);
}
