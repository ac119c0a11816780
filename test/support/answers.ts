/** In what a page shows, it stands for any text; as the last entry of a list, for any more entries. */
export const ANYTHING = "…";

/** Where an answer first differs from the one that a page shows, as a sentence; null when it does not. */
export function differenceOf(shown: unknown, actual: unknown, at = "the answer"): string | null {
  if (typeof shown === "string") return isLike(shown, actual) ? null : unlike(shown, actual, at);
  if (Array.isArray(shown)) return differenceOfLists(shown, actual, at);
  if (typeof shown === "object" && shown !== null) return differenceOfObjects(shown, actual, at);
  return Object.is(shown, actual) ? null : unlike(shown, actual, at);
}

/** Whether a text is as a page shows it, line by line; a line of nothing but … stands for any lines. */
export function isTextLike(shown: string, actual: string): boolean {
  const lines = shown.trim().split("\n");
  const patterns = lines.map((line) =>
    line.trim() === ANYTHING ? "[\\s\\S]*" : patternOf(line.trimEnd(), ".*"),
  );
  return new RegExp(`^${patterns.join("\\n")}$`).test(actual.trim().replaceAll(/[ \r]+$/gm, ""));
}

function isLike(shown: string, actual: unknown): boolean {
  if (shown === ANYTHING) return actual !== null && actual !== undefined;
  return typeof actual === "string" && new RegExp(`^${patternOf(shown, "[\\s\\S]*")}$`).test(actual);
}

function patternOf(shown: string, anything: string): string {
  const escaped = shown.split(ANYTHING).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return escaped.join(anything);
}

function differenceOfLists(shown: unknown[], actual: unknown, at: string): string | null {
  if (!Array.isArray(actual)) return unlike(shown, actual, at);
  const isOpen = shown.at(-1) === ANYTHING;
  const entries = isOpen ? shown.slice(0, -1) : shown;
  if (isOpen ? actual.length < entries.length : actual.length !== entries.length)
    return `${at} has ${actual.length} entries`;
  return firstOf(entries.map((entry, n) => differenceOf(entry, actual[n], `${at}[${n}]`)));
}

function differenceOfObjects(shown: object, actual: unknown, at: string): string | null {
  if (typeof actual !== "object" || actual === null || Array.isArray(actual))
    return unlike(shown, actual, at);
  const [expected, given] = [new Map(Object.entries(shown)), new Map(Object.entries(actual))];
  const names = [...new Set([...expected.keys(), ...given.keys()])];
  return firstOf(
    names.map((name) =>
      expected.has(name) && given.has(name)
        ? differenceOf(expected.get(name), given.get(name), `${at}.${name}`)
        : `${at} ${expected.has(name) ? "lacks" : "also has"} ${name}`,
    ),
  );
}

const firstOf = (differences: (string | null)[]) => differences.find((found) => found !== null) ?? null;

function unlike(shown: unknown, actual: unknown, at: string): string {
  return `${at} is ${JSON.stringify(actual)}, not ${JSON.stringify(shown)}`;
}
