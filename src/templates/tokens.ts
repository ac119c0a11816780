import { quoted } from "../errors.ts";

/** A token of a template other than plain text, with its position and that of its tag, `{{` or `{%`. */
export interface PlacedToken {
  start: number;
  raw: string;
  tag: number;
}

export interface ErrorDetail {
  at: number;
  what: string;
  tag: number;
}

/**
 * Finds the positions of the library's tokens and of its lexer's first error, by the same rules: the library reports no
 * positions.
 */
export function scanTokens(text: string): { tokens: PlacedToken[]; lexicalError: ErrorDetail | null } {
  const tokens: PlacedToken[] = [];
  let at = 0;
  let depth = 0;
  let tag: number | null = null;
  while (true) {
    const space = tag === null ? "" : matchAt(/\s+/y, text, at);
    at = tag === null ? nextOpening(text, at) : at + space.length;
    if (at >= text.length) break;
    const generationTag = matchAt(GENERATION, text, at);
    at += generationTag.length;
    if (generationTag) continue;
    tag ??= at;
    const raw = cutToken(text, at, { depth, space, before: tokens.at(-1)?.raw ?? "" });
    const detail = lexicalError(text, at, raw, space);
    if (detail) return { tokens, lexicalError: { tag, ...detail } };
    tokens.push({ start: at, raw, tag });
    at += raw.length;
    if (raw.startsWith("{{")) depth = 0;
    else if (raw === "{") depth++;
    else if (raw === "}") depth--;
    else if (/^(?:-?[%}]\}$|\{#)/.test(raw)) tag = null;
  }
  const open = tag === null ? null : { at: tag, tag, what: "the tag that opens here is never closed" };
  return { tokens, lexicalError: open };
}

// The library removes these tags before it parses the template.
const GENERATION = /\{%-?\s*(?:end)?generation\s*-?%\}/y;
const TOKEN = /\{[%{]-?|-?%\}|-?\}\}|\d+(?:\.\d+)?|\w+|\*\*|\/\/|[<>=!]=|[-+~*/%=<>()[\]{},.:|]/y;
const STRINGS = [
  /"[^"\\]*(?:\\(?:[ntrbfv'"\\]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4})[^"\\]*)*"?/y,
  /'[^'\\]*(?:\\(?:[ntrbfv'"\\]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4})[^'\\]*)*'?/y,
];

/** After white space in a tag the lexer looks for neither comments nor `{%-`. */
function isComment(text: string, at: number, space: string): boolean {
  return space === "" && text.startsWith("{#", at);
}

function nextOpening(text: string, from: number): number {
  const openings = /\{[%{#]/g;
  openings.lastIndex = from;
  return openings.exec(text)?.index ?? text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

interface Surroundings {
  depth: number;
  space: string;
  before: string;
}

/** Empty where the lexer finds no token. */
function cutToken(text: string, at: number, { depth, space, before }: Surroundings): string {
  if (text[at] === '"' || text[at] === "'") return matchAt(STRINGS[text[at] === '"' ? 0 : 1]!, text, at);
  if (isComment(text, at, space)) {
    const end = text.indexOf("#}", at + (text[at + 2] === "-" ? 3 : 2));
    return end < 0 ? "" : text.slice(at, end + 2);
  }
  const raw = matchAt(TOKEN, text, at);
  if (space && /^\{[%{]-$/.test(raw)) return raw.slice(0, 2);
  if (raw === "}}" && depth > 0) return "}";
  if (before === "." && /^\d/.test(raw)) return matchAt(/\d+/y, text, at);
  // A sign belongs to the number after it, unless it follows an operand.
  const isSign = (raw === "-" || raw === "+") && !/^["'\w]|^[-+]\d|^[)\]]/.test(before);
  return isSign ? matchAt(/[-+](?:\d+(?:\.\d+)?)?/y, text, at) : raw;
}

function lexicalError(text: string, at: number, raw: string, space: string): Omit<ErrorDetail, "tag"> | null {
  if (isComment(text, at, space))
    return raw ? null : { at, what: "the comment that opens here is never closed" };
  if (raw === "") {
    return { at, what: `unexpected character ${quoted(String.fromCodePoint(text.codePointAt(at)!))}` };
  }
  if (!/^["']/.test(raw) || (raw.length > 1 && raw.endsWith(raw[0]!))) return null;
  const isEscape = text[at + raw.length] === "\\" && at + raw.length + 1 < text.length;
  if (isEscape) return { at: at + raw.length, what: "unknown escape sequence" };
  return { at, what: "the string that opens here is never closed" };
}
