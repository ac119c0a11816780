import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts answers with the caller's token: an answer may hold a new token, which is stored nowhere else. */
export function cipherOf(token: string, key: string) {
  const secret = new Uint8Array(hkdfSync("sha256", token, key, "gabbro idempotent answer", 32));
  return {
    encrypt: (text: string): string => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, secret, iv);
      const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString("base64");
    },
    decrypt: (text: string): string => {
      const bytes = Buffer.from(text, "base64");
      const decipher = createDecipheriv(CIPHER, secret, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const beginning = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
      return Buffer.concat([beginning, decipher.final()]).toString("utf8");
    },
  };
}

export type AnswerCipher = ReturnType<typeof cipherOf>;
