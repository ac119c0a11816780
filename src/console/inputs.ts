import { z } from "zod";
import { text } from "../validation/text.ts";

const MAX_SECRET_CHARACTERS = 4_096;
const secret = () => text().trim().min(1).max(MAX_SECRET_CHARACTERS);

export const signInInput = z.union([z.object({ token: secret() }), z.object({ code: secret() })], {
  error: 'must be {"token": "…"}, or {"code": "…"} with the code of a sign-in link',
});
export type SignInInput = z.infer<typeof signInInput>;
