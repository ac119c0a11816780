import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorResponses, errorResponsesToBody } from "../rest/errorResponses.ts";
import { scope } from "./inputs.ts";
import { authenticated } from "./resolvers.ts";

export const verifyTokenAnswer = z
  .object({
    valid: z.literal(true).describe("The token is valid; any other gets 401."),
    workspaceId: z.string().describe("The workspace of the token."),
    scopes: z.array(scope).describe("What the token may do."),
  })
  .describe("What the token is good for.");

/** The routes by which proxies and collectors check a token. */
export function authRoutes(app: App): void {
  for (const [method, operationId] of [
    ["GET", "verifyToken"],
    ["POST", "verifyTokenByPost"],
  ] as const)
    app.route({
      method,
      url: "/auth/verify",
      schema: {
        operationId,
        summary: "Check an access token",
        tags: ["access tokens"],
        response: { 200: verifyTokenAnswer, ...(method === "POST" ? errorResponsesToBody : errorResponses) },
      },
      handler: async ({ context }) => {
        const { workspaceId, scopes } = authenticated(context);
        return { valid: true as const, workspaceId, scopes };
      },
    });
}
