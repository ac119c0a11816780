import { z } from "zod";
import { idPage } from "../validation/pagination.ts";
import { idOf, text } from "../validation/text.ts";

const MAX_SECRET_CHARACTERS = 4_096;
const secret = () => text().trim().min(1).max(MAX_SECRET_CHARACTERS);

export const signInInput = z.union([z.object({ token: secret() }), z.object({ code: secret() })], {
  error: 'must be {"token": "…"}, or {"code": "…"} with the code of a sign-in link',
});
export type SignInInput = z.infer<typeof signInInput>;

export const MAX_PAGE = 1_000;

export const consoleSessionsInput = z.object(idPage({ max: MAX_PAGE }));

export const consoleSessionInput = z.object({
  id: idOf("a session").describe("The id of the session."),
});
