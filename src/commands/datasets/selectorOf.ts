/** What picks a version that a person names: a whole number is a version, and anything else a tag. */
export function selectorOf(name: string): { version: number } | { tag: string } {
  return /^[1-9]\d{0,8}$/.test(name) ? { version: Number(name) } : { tag: name };
}
