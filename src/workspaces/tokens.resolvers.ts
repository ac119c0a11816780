import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { inPieces, type Piece } from "../database/lengths.ts";
import { createFinder } from "../database/loader.ts";
import { idsInPage, inPage, type Page } from "../database/pages.ts";
import { inTransaction } from "../database/transaction.ts";
import { GabbroError, quoted } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import type { Scope } from "../scopes.ts";
import { recordChange } from "./audit.resolvers.ts";
import { AccessToken } from "./entities.ts";
import { authenticated, authorize } from "./resolvers.ts";
import { generateToken, hashToken } from "./tokens.ts";

export interface NewToken {
  name: string;
  scopes: Scope[];
  expiresAt: Date | null;
}

/** A new token and the row to store. The row has only its hash, so nobody can read the token later. */
export function newToken(workspace: string, { name, scopes, expiresAt }: NewToken, token = generateToken()) {
  const times = { createdAt: new Date(), expiresAt, revokedAt: null, lastUsedAt: null };
  const row = {
    id: newId(),
    workspace,
    name,
    hash: hashToken(token),
    scopes: [...new Set(scopes)],
    ...times,
  };
  return { token, row };
}

/**
 * Creates a token in the caller's workspace. The caller needs every scope of the token, which is returned only now.
 */
export async function createAccessToken(
  context: Context,
  input: NewToken,
): Promise<{ token: string; accessToken: AccessToken }> {
  const workspace = authorize(context, "admin");
  refuseMoreScopes(context, input.scopes);
  const { token, row } = newToken(workspace, input);
  const accessToken = await inTransaction(context.em, async (em) => {
    recordChange(em, context, {
      action: "createAccessToken",
      subject: row.id,
      before: null,
      after: auditFieldsOf(row),
    });
    return em.create(AccessToken, row);
  });
  return { token, accessToken };
}

function refuseMoreScopes(context: Context, requested: Scope[]): void {
  const { scopes } = authenticated(context);
  const missing = requested.find((scope) => !scopes.includes(scope));
  if (missing === undefined) return;
  const message = `This access token lacks the scope "${missing}", so it cannot give it to another. Use one that has it.`;
  throw new GabbroError("FORBIDDEN", message);
}

/** Making entities of 50,000 tokens at once takes 1.7 s. */
const MAX_TOKENS_IN_PIECE = 500;

/** The tokens of the workspace, the oldest first, including revoked and expired ones; without their secrets. */
export async function accessTokens(context: Context): Promise<AccessToken[]> {
  const workspace = authorize(context, "admin");
  const tokens: AccessToken[] = [];
  const read = ({ after, limit }: Piece) => {
    checkDeadline(context);
    const where = after === null ? {} : { id: { $gt: after } };
    return context.em.find(AccessToken, where, { orderBy: { id: "asc" }, limit });
  };
  const turn = () => context.database.turn(workspace);
  for await (const piece of inPieces(workspace, { read, turn, limit: MAX_TOKENS_IN_PIECE }))
    tokens.push(...piece);
  return tokens;
}

/** Such a token takes about a kilobyte of memory, of which the budget of an answer counts about a quarter. */
const TOKEN_BYTES = 300;

/** The tokens of the workspace that were not revoked, the oldest first, in pieces with other requests in between. */
export function unrevokedTokens(context: Context) {
  const workspace = authorize(context, "admin");
  const tokens = context.database.read
    .selectFrom("AccessToken")
    .select(["id", "name", "scopes", "expiresAt", "lastUsedAt"])
    .where("workspace", "=", workspace)
    .where("revokedAt", "is", null);
  const read = async ({ after, limit }: Piece) => {
    checkDeadline(context);
    const piece = await inPage(tokens, "id", { after: after ?? undefined, limit }).execute();
    spendAnswerBytes(context, piece.length * TOKEN_BYTES);
    return piece;
  };
  const turn = () => context.database.turn(workspace);
  return inPieces(workspace, { read, turn, limit: MAX_TOKENS_IN_PIECE });
}

/** A page of the tokens of the workspace, the oldest first, including revoked and expired ones. */
export async function accessTokenPage(context: Context, page: Page): Promise<AccessToken[]> {
  authorize(context, "admin");
  const { where, options } = idsInPage(page);
  return context.em.find(AccessToken, where, options);
}

/** The token with that id, without its secret; null when the workspace has none. */
export const findAccessToken: (context: Context, id: string) => Promise<AccessToken | null> = createFinder(
  async (context, ids) => {
    authorize(context, "admin");
    return context.em.find(AccessToken, { id: { $in: ids } });
  },
);

/** Revokes a token; TOKEN_NOT_FOUND when the workspace has none with that id, or has revoked it before. */
export async function revokeAccessToken(context: Context, { id }: { id: string }): Promise<AccessToken> {
  const workspace = authorize(context, "admin");
  return inTransaction(context.em, async (em) => {
    const token = await em.findOne(AccessToken, { id, revokedAt: null });
    if (!token)
      throw new GabbroError("TOKEN_NOT_FOUND", `There is no working access token with the id ${quoted(id)}.`);
    token.revokedAt = new Date();
    // At most 100, which each list of sessions would otherwise pass over until they have not been used for 12 h.
    await context.database
      .readWithin(em)
      .deleteFrom("ConsoleSession")
      .where("workspace", "=", workspace)
      .where("token", "=", id)
      .execute();
    recordChange(em, context, {
      action: "revokeAccessToken",
      subject: id,
      before: auditFieldsOf(token),
      after: null,
    });
    return token;
  });
}

function auditFieldsOf({ name, scopes, expiresAt }: NewToken): Record<string, unknown> {
  return { name, scopes, expiresAt };
}
