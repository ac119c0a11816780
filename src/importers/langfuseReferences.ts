import { textsIn } from "./values.ts";

/** The versions of all prompts of an export, by name and number. */
export type Versions = ReadonlyMap<string, ReadonlyMap<number, { value: Record<string, unknown> }>>;

const REFERENCE = /@@@langfusePrompt:([^@]*)@@@/g;
/** How deep Langfuse itself lets prompts refer to each other. */
const MAX_DEPTH = 5;
/** As many as a template may have: each reference may insert a long text. */
const MAX_CHARACTERS = 500_000;
/** Of a text and of all that it inserts: ten references in each of five levels are 100,000. */
const MAX_REFERENCES = 1_000;

/** Where a text stands: the prompts around it, and how many references may still follow in all of them. */
interface Nesting {
  within: string[];
  budget: { references: number };
}

/** Inserts the texts of the prompts that a text refers to, as Langfuse does when it serves one. */
export function resolveReferences(
  text: string,
  all: Versions,
  nesting: Nesting = { within: [], budget: { references: MAX_REFERENCES } },
): { text: string } | { reason: string } {
  const parts: string[] = [];
  let length = 0;
  let from = 0;
  for (const { 0: whole, 1: reference = "", index } of text.matchAll(REFERENCE)) {
    nesting.budget.references -= 1;
    if (nesting.budget.references < 0) return { reason: `it has more than ${MAX_REFERENCES} references` };
    const inserted = find(reference, all, nesting);
    if ("reason" in inserted) return { reason: `the reference to ${reference} ${inserted.reason}` };
    parts.push(text.slice(from, index), inserted.text);
    from = index + whole.length;
    length += inserted.text.length;
    if (length > MAX_CHARACTERS) return { reason: "its references insert more than 500,000 characters" };
  }
  return { text: parts.join("") + text.slice(from) };
}

function find(
  reference: string,
  all: Versions,
  { within, budget }: Nesting,
): { text: string } | { reason: string } {
  const { name = "", version, label } = membersOf(reference);
  const versions = all.get(name);
  if (!versions) return { reason: "cannot be resolved: these files have no such prompt" };
  const found =
    version !== undefined
      ? versions.get(Number(version))
      : [...versions.values()].find(({ value }) => textsIn(value, "labels").includes(label ?? ""));
  if (!found) return { reason: "cannot be resolved: these files have no such version" };
  const { prompt } = found.value;
  if (typeof prompt !== "string") return { reason: "leads to a chat, which cannot be inserted" };
  const key = `${name} ${found.value.version}`;
  if (within.includes(key)) return { reason: "leads back to itself" };
  if (within.length >= MAX_DEPTH) return { reason: `is nested deeper than ${MAX_DEPTH}` };
  return resolveReferences(prompt, all, { within: [...within, key], budget });
}

/** The members of `name=X|label=Y`; a name may hold an equals sign. */
function membersOf(reference: string): Record<string, string> {
  return Object.fromEntries(
    reference.split("|").map((part) => {
      const at = part.indexOf("=");
      return [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}
