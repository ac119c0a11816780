import { type DocumentNode, getOperationAST, visit } from "graphql";
import type { ErrorDetail } from "../errors.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { defaultsOf } from "./argumentDetails.ts";

/** A text of this length may be named twice, as what a model was given and what it should have said. */
const MAX_REPEATED_CHARACTERS = 1_000_000;

const repeatsOfDocuments = new WeakMap<DocumentNode, Map<string, number>>();

/**
 * The error of a variable whose repetitions within arguments are too long; undefined when there is none. The limits of a body count
 * a variable once, and everything that validates, measures and stores an argument meets it as often as the argument names it:
 * 100 times 100,000 members took 4.9 s, and 50 times 9.8 MB of text ended the process.
 */
export function tooLongRepeated(
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>> | null | undefined,
): ErrorDetail | undefined {
  const repeats = repeatsOf(document);
  if (repeats.size === 0) return undefined;
  const operation = getOperationAST(document, operationName);
  const values: Record<string, unknown> = { ...(operation && defaultsOf(operation)), ...variables };
  let left = MAX_REPEATED_CHARACTERS;
  for (const [name, times] of repeats) {
    left -= times * jsonSize(values[name], left / times);
    if (left < 0) return { path: name, message: TOO_LONG };
  }
  return undefined;
}

const TOO_LONG = `is named several times within an argument, which repeats more than ${MAX_REPEATED_CHARACTERS.toLocaleString("en")} characters; name it once`;

/** How often each variable is named again within the same argument, in all arguments of a document together. */
function repeatsOf(document: DocumentNode): Map<string, number> {
  const known = repeatsOfDocuments.get(document);
  if (known) return known;
  const repeats = new Map<string, number>();
  visit(document, {
    Argument: ({ value }) => {
      const named = new Set<string>();
      visit(value, {
        Variable: ({ name: { value: name } }) => {
          if (named.has(name)) repeats.set(name, (repeats.get(name) ?? 0) + 1);
          named.add(name);
        },
      });
      return false;
    },
  });
  repeatsOfDocuments.set(document, repeats);
  return repeats;
}
