import { describeSyntaxError, toProgram } from "../../../../src/templates/parse.ts";

/** A longer text is not parsed while it is typed; the server does it. */
const MAX_CHARACTERS = 100_000;

/** What is wrong with a template, as the server says it; null for nothing. */
export function problemOf(text: string): string | null {
  if (text.length > MAX_CHARACTERS) return null;
  try {
    toProgram(text);
    return null;
  } catch (error) {
    return `Not a valid template${describeSyntaxError(text, error)}`;
  }
}
