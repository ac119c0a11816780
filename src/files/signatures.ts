import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** What a signed URL allows. */
export type Purpose = "upload" | "download";

interface Signable {
  key: string;
  secret: string;
}

const LIFETIME_MS = 15 * 60_000;
const SECRET_BYTES = 32;

export const newSecret = () => randomBytes(SECRET_BYTES).toString("base64url");

/** The path at which a file may be uploaded or downloaded without a token for 15 minutes. */
export function signedPath(purpose: Purpose, file: Signable): { path: string; expiresAt: Date } {
  const expires = Math.floor((Date.now() + LIFETIME_MS) / 1_000);
  const query = new URLSearchParams({
    expires: String(expires),
    signature: signatureOf(purpose, file, String(expires)).toString("base64url"),
  });
  return { path: `/files/${purpose}/${file.key}?${query}`, expiresAt: new Date(expires * 1_000) };
}

/** Whether `signature` is that of a URL for this purpose, this file and this time. */
export function isSigned(
  purpose: Purpose,
  file: Signable,
  { expires, signature }: { expires: string; signature: string },
): boolean {
  const expected = signatureOf(purpose, file, expires);
  const given = Buffer.from(signature, "base64url");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

export const isExpired = (expires: string) => Date.now() >= Number(expires) * 1_000;

function signatureOf(purpose: Purpose, { key, secret }: Signable, expires: string): Buffer {
  return createHmac("sha256", Buffer.from(secret, "base64url"))
    .update(JSON.stringify([purpose, key, expires]))
    .digest();
}
