import { createHash } from "node:crypto";

const MAX_SLUG_CHARACTERS = 128;
const HASH_DIGITS = 12;

/** The slug of something that another product knows by a free name: the same for the same name. */
export function slugOf(name: string): string {
  const ascii = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const slug = ascii
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/[-_]{2,}/g, "-")
    .replace(/^[-_]|[-_]$/g, "");
  if (slug === "") return `name-${hashOf(name)}`;
  if (slug.length <= MAX_SLUG_CHARACTERS) return slug;
  return `${slug.slice(0, MAX_SLUG_CHARACTERS - HASH_DIGITS - 1).replace(/[-_]$/, "")}-${hashOf(name)}`;
}

const hashOf = (name: string): string =>
  createHash("sha256").update(name).digest("hex").slice(0, HASH_DIGITS);
