import { hash } from "node:crypto";

/** The strong ETag of an answer, which names its content. */
export const etagOf = (body: string): string => `"${hash("sha256", body, "base64url")}"`;
