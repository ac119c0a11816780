import { type Converted, isVariable, type Piece, refuseAt, toJinja } from "./pieces.ts";

const VARIABLE = /\{\{\{\s*([\w.]+)\s*\}\}\}|\{\{\s*(?:&\s*)?([\w.]+)\s*\}\}/y;

/**
 * Converts a template of Mustache whose values are not escaped for HTML, as those of prompts never are. Refuses sections,
 * partials and comments: whether a section repeats, hides or shows text depends on the kind of its value.
 */
export function fromMustache(template: string): Converted {
  const pieces: Piece[] = [];
  let from = 0;
  for (let at = template.indexOf("{{"); at >= 0; at = template.indexOf("{{", from)) {
    pieces.push({ text: template.slice(from, at) });
    VARIABLE.lastIndex = at;
    const [tag, triple, double] = VARIABLE.exec(template) ?? [];
    const name = triple ?? double;
    if (tag === undefined || !name || !isVariable(name))
      return refuseAt(template, at, reasonOf(template, at));
    pieces.push({ tag: tag === `{{${name}}}` ? tag : `{{ ${name} }}` });
    from = at + tag.length;
  }
  pieces.push({ text: template.slice(from) });
  return { text: toJinja(pieces) };
}

const kinds: Record<string, string> = {
  "#": "a section, which repeats, hides or shows text; write it as {% if %} or {% for %} of Jinja",
  "^": "an inverted section; write it as {% if not %} of Jinja",
  "/": "the end of a section that never began",
  ">": "a partial, which stands elsewhere; insert its text",
  "=": "other delimiters; write the template with {{ and }}",
  "!": "a comment; write it as {# #} of Jinja",
};

const MAX_SHOWN_CHARACTERS = 60;

function reasonOf(template: string, at: number): string {
  const end = template.indexOf("}}", at);
  if (end < 0) return "the tag that opens here is never closed";
  const content = template.slice(at + 2, end).trim();
  const kind = kinds[content[0] ?? ""];
  const shown = template.slice(at, Math.min(end + 2, at + MAX_SHOWN_CHARACTERS));
  return `${shown} is ${kind ?? "no name that a variable of Jinja can have"}`;
}
