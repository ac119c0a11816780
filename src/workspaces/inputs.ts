import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { list } from "../validation/list.ts";
import { idPage } from "../validation/pagination.ts";
import { idOf, text } from "../validation/text.ts";

const MAX_SCOPES = 10;
export const scope = z.enum(["read", "write", "publish", "admin"]);

export const createAccessTokenInput = z
  .object({
    name: text(256).min(1).describe("What it is for."),
    scopes: list(scope, MAX_SCOPES)
      .refine((scopes) => scopes.length > 0, { error: "must not be empty" })
      .describe("What it may do; only what the calling token may do, too."),
    expiresAt: optionalTimestamp()
      .refine((time) => time === null || time > new Date(), { error: "must be in the future" })
      .describe("When it ends; never when absent."),
  })
  .describe("An access token to make.");
export const createAccessTokenArguments = z.object({ input: createAccessTokenInput });

export const accessTokenInput = z.object({
  id: idOf("a token").describe("The id of the token."),
});

export const MAX_PAGE = 1_000;

export const accessTokensInput = z.object(idPage({ max: MAX_PAGE }));
export const auditLogInput = z.object(idPage({ max: MAX_PAGE }));
