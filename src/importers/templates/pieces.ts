import { parseTemplate } from "../../templates/templates.ts";

/** A template in Jinja, or why there is none; `line` counts the lines of the template from 1. */
export type Converted = { text: string } | { line: number; reason: string };

/** A part of a template: text as it stands, or a tag of Jinja. */
export type Piece = { text: string } | { tag: string };

/** Writes pieces as one Jinja template that renders every text of them unchanged. */
export function toJinja(pieces: Piece[]): string {
  const texts = pieces.map((piece) => ("tag" in piece ? piece.tag : escapeText(piece.text)));
  return escapeEnd(texts.join(""));
}

/**
 * Escapes what Jinja would take for a tag in a text, and the white space that the library takes away: indentation before
 * `{%`, `{#` and `{-`, and the line feed after `%}`, `#}` and `-}`, wherever they stand.
 */
export function escapeText(text: string): string {
  return text
    .replace(/\{+/g, (braces, at: number) => {
      const next = text[at + braces.length];
      const isPlain = braces.length === 1 && next !== undefined && !"%#-".includes(next);
      return isPlain ? braces : literal(braces);
    })
    .replace(/([#%-]\})\n/g, (_, end: string) => `${end}${literal("\n")}`);
}

/** Keeps the line feed at the end of a template, of which Jinja takes one away. */
export function escapeEnd(template: string): string {
  if (!template.endsWith("\n")) return template;
  const rest = template.slice(0, -1);
  return `${rest.endsWith("{") ? `${rest.slice(0, -1)}${literal("{")}` : rest}${literal("\n")}`;
}

/** A tag that renders a text. */
export function literal(text: string): string {
  return `{{ ${JSON.stringify(text)} }}`;
}

/** Whether a name, or a path such as `input.question`, is a variable of Jinja. */
export function isVariable(path: string): boolean {
  const [name, ...members] = path.split(".");
  if (![name!, ...members].every((part) => /^[A-Za-z_]\w*$/.test(part))) return false;
  try {
    return parseTemplate({ path: "", text: `{{ ${name} }}` }).includes(name!);
  } catch {
    return false; // an operator such as `not`
  }
}

/** The refusal of a template at a position. */
export function refuseAt(template: string, at: number, reason: string): Converted {
  return { line: template.slice(0, at).split("\n").length, reason };
}
