import { GabbroError } from "../../errors.ts";
import { parseTemplate } from "../../templates/templates.ts";
import { type PlacedToken, scanTokens } from "../../templates/tokens.ts";
import { type Converted, escapeEnd, escapeText, literal } from "./pieces.ts";

/**
 * Converts a template of Jinja as Python renders it by default: there, the white space around a block stays, which the
 * library of Gabbro and of its clients takes away.
 */
export function fromJinja(template: string): Converted {
  const problem = problemOf(template);
  if (problem) return problem;
  const body = template.endsWith("\n") ? template.slice(0, -1) : template;
  let text = "";
  let from = 0;
  let before = "";
  for (const { start, end, opening, closing } of tagsOf(body)) {
    text += escapeBetween(body.slice(from, start), before, opening) + body.slice(start, end);
    from = end;
    before = closing;
  }
  text = escapeEnd(text + escapeBetween(body.slice(from), before, ""));
  return { text: template === body ? text : `${text}\n` };
}

/** Why Gabbro's own engine cannot read a template; null when it can. */
function problemOf(template: string): { line: number; reason: string } | null {
  try {
    parseTemplate({ path: "it", text: template });
    return null;
  } catch (error) {
    const message = error instanceof GabbroError ? (error.details?.[0]?.message ?? "") : "";
    if (message === "") throw error;
    return { line: Number(/at line (\d+)/.exec(message)?.[1] ?? 1), reason: `it ${message}` };
  }
}

interface Tag {
  start: number;
  end: number;
  opening: string;
  closing: string;
}

/** The tags of a valid template, comments included. */
function tagsOf(template: string): Tag[] {
  const byTag = Map.groupBy(scanTokens(template).tokens, ({ tag }) => tag);
  return [...byTag].map(([start, tokens]) => {
    const last = tokens.at(-1) as PlacedToken;
    return {
      start,
      end: last.start + last.raw.length,
      opening: template.slice(start, start + 3),
      closing: last.raw.slice(-3),
    };
  });
}

/** The text between two tags, without the white space that their hyphens take away. */
function escapeBetween(text: string, before: string, after: string): string {
  let rest = /^-[%}#]\}$/.test(before) ? text.trimStart() : text;
  if (after.endsWith("-")) rest = rest.trimEnd();
  const lineFeed = /^[^-]?[%#]\}$/.test(before) && rest.startsWith("\n") ? "\n" : "";
  rest = rest.slice(lineFeed.length);
  const indentation = /^\{[%#](?!-)/.test(after) ? (/(?<=^|\n)[ \t]+$/.exec(rest)?.[0] ?? "") : "";
  const isAtLineStart = rest.length > indentation.length || before === "" || lineFeed !== "";
  if (indentation === "" || !isAtLineStart) return written(lineFeed) + escapeText(rest);
  return written(lineFeed) + escapeText(rest.slice(0, -indentation.length)) + literal(indentation);
}

const written = (text: string): string => (text === "" ? "" : literal(text));
