import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import baseX from "base-x";

const PREFIX = "gab_";
const SECRET_BYTES = 32;
const SECRET_LENGTH = 43; // digits that 256 bits take in base62
const CHECKSUM_LENGTH = 6; // digits that 32 bits take in base62
const base62 = baseX("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
export const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new token: `gab_`, 256 random bits and a CRC-32 of them, both in base62, so that a mistyped one can be detected. */
export function generateToken(): string {
  const secret = base62.encode(randomBytes(SECRET_BYTES)).padStart(SECRET_LENGTH, "0");
  return PREFIX + secret + checksumOf(secret);
}

/** False for a generated token with a wrong checksum; tokens of another form were chosen by their users. */
export function isIntact(token: string): boolean {
  if (!FORM.test(token)) return true;
  const secret = token.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return token.endsWith(checksumOf(secret));
}

/** The SHA-256 in hexadecimal of a token, which is stored; it needs no salt, as tokens are not guessable. */
export function hashToken(token: string): string {
  return hash("sha256", token);
}

function checksumOf(secret: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(secret));
  return base62.encode(bytes).padStart(CHECKSUM_LENGTH, "0");
}
