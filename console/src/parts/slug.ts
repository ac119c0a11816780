/** A slug for a name: its letters and digits, in lower case and without accents, with hyphens between. */
export function slugOf(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
  return plain
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join("-");
}
