import { type Material, oddText } from "./material.ts";

/** What is in the database, by the names of arguments and members that ask for it. */
export interface Known {
  /** Of prompts and of datasets alike. */
  slugs: string[];
  ids: string[];
}

const versions = ["1.0.0", "2.0.0", "3.0.0"];
const tags = ["production", "latest", "beta"];
const moments = [
  "2026-01-31T09:30:00Z",
  "2026-01-31 09:30:00.5+0530",
  "2026-02-01",
  1_769_851_800_000,
  0,
  -1,
  "",
  null,
  "2025-01-01T00:00:00Z",
];
const plainTexts = [
  "",
  "a",
  "Nairobi",
  "What is the capital of {{ country }}?",
  "zürich 東京",
  "x y z",
  "gpt-4o",
];

/** A text such as something of that name may be. */
export function plausibleText(material: Material, name: string, known: Known): string {
  if (material.chance(0.05)) return oddText(material);
  if (/slug/i.test(name)) {
    return material.oneOf([...known.slugs, ...known.slugs, `new-${material.below(20)}`]);
  }
  if (/^(?:version|from|to)$/.test(name)) return material.oneOf(versions);
  if (/tag$/i.test(name)) return material.oneOf(tags);
  if (/^(?:id|after|logId)$/.test(name)) return material.oneOf(known.ids);
  if (name === "timeZone") return material.oneOf(["UTC", "Europe/Berlin", "Asia/Kathmandu", "+05:30"]);
  if (/column|label/i.test(name)) return material.oneOf(columns);
  return material.oneOf(plainTexts);
}

export const columns = ["a", "b", "c d"];

export const plausibleMoment = (material: Material): unknown => material.oneOf(moments);

export const plausibleNumber = (material: Material): number =>
  material.chance(0.1) ? material.oneOf([0, -1, 2 ** 31 - 1, 1e9, 10_001]) : material.below(100);

/** An object of any kind, often with members that are columns of datasets. */
export function plausibleObject(material: Material): Record<string, unknown> {
  const names = material.some(4, () => material.oneOf([...columns, "other", material.text()]));
  return Object.fromEntries(names.map((name) => [name, material.json()]));
}
