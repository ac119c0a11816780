import { parse, tokenize } from "@huggingface/jinja";
import { quoted } from "../errors.ts";
import { type ErrorDetail, type PlacedToken, scanTokens } from "./tokens.ts";

/** The library's tree of a template. Throws the errors of the library, for `describeSyntaxError`. */
export function toProgram(text: string): object {
  return parse(toTokens(text));
}

/**
 * Where and why the library refused a template with `error`, to follow "is not a valid template". Lines end as editors
 * end them, columns count characters: a tab or an emoji of one code point is one.
 */
export function describeSyntaxError(text: string, error: unknown): string {
  if (error instanceof RangeError) return ": it is nested too deeply";
  const { tokens, lexicalError } = scanTokens(text);
  const { at, what, tag } = lexicalError ?? parserError(text, tokens);
  const { line, column } = placeOf(text, at);
  const opening = placeOf(text, tag);
  const hint = opening.line < line ? ` (is the tag that opens in line ${opening.line} closed?)` : "";
  return ` at line ${line}, column ${column}: ${what}${hint}`;
}

/**
 * The library looks for `{% generation %}` behind white space with an expression whose time is quadratic in the length
 * of the space: half a minute for 300 KB. What a template means to us does not depend on that length.
 */
function toTokens(text: string): Token[] {
  return tokenize(text.replace(/\s{100,}/g, " "), { lstrip_blocks: true, trim_blocks: true });
}

interface Token {
  value: string;
  type: string;
}

/** A token that notices when its type is read. The getter is shared: one for each of 250,000 tokens takes 100 MB. */
interface Watched {
  value: string;
  token: Token;
  index: number;
}

/** The parser tells no positions. The token at which it fails is the last one whose type it asks for. */
function parserError(text: string, placed: PlacedToken[]): ErrorDetail {
  let last = 0;
  let failed: unknown;
  const tokens = toTokens(text).filter(({ type }) => type !== "Text");
  const watcher = {
    get type() {
      const { index, token } = this as unknown as Watched;
      last = index;
      return token.type;
    },
  };
  const watched = tokens.map(
    (token, index): Token =>
      Object.assign(Object.create(watcher), { value: token.value, token, index } satisfies Watched),
  );
  try {
    parse(watched);
  } catch (error) {
    failed = error;
  }
  if (failed instanceof TypeError) return unclosed(text, placed); // It read a token behind the end.
  const message = failed instanceof Error ? failed.message : "";
  if (looksAhead(message, tokens[last - 1]?.type)) last--;
  const { start, raw, tag } = placed[Math.min(last, placed.length - 1)]!;
  return { at: start, tag, what: explain(message, raw, () => lastOpen(text, placed.slice(0, last - 1))) };
}

/** Before it refuses a string or the variable of a loop, the parser asks for what follows. */
function looksAhead(message: string, typeBefore: string | undefined): boolean {
  return (
    message.startsWith("Expected identifier/tuple") ||
    (message.startsWith("Expected identifier") && typeBefore === "StringLiteral")
  );
}

function explain(
  message: string,
  raw: string,
  openBefore: () => (Block & { line: number }) | undefined,
): string {
  const word = /^["']/.test(raw) ? "string" : raw.startsWith("{#") ? "comment" : quoted(raw);
  if (message.startsWith("Unknown statement type")) {
    if (!/^(?:end\w*|else|elif)$/.test(raw)) return `unknown statement ${word}`;
    const open = openBefore();
    return open
      ? `${word} where the block "${open.name}" of line ${open.line} is still open`
      : `${word} closes no open block`;
  }
  if (/^(?:Unexpected|Unknown|Parser Error)/.test(message) || message === "") return `unexpected ${word}`;
  return `${message[0]!.toLowerCase()}${message.slice(1).replace(/, got \w+ instead$/, "")}`;
}

function unclosed(text: string, placed: PlacedToken[]): ErrorDetail {
  const block = openBlocks(placed).at(-1);
  if (!block) return { at: text.length, tag: text.length, what: "it ends too early" };
  return {
    at: block.start,
    tag: block.start,
    what: `the block "${block.name}" is never closed with "end${block.name}"`,
  };
}

interface Block {
  name: string;
  start: number;
}

const BLOCKS = ["if", "for", "macro", "call", "filter", "set"];

function openBlocks(placed: PlacedToken[]): Block[] {
  const open: Block[] = [];
  placed.forEach(({ raw, tag }, i) => {
    const before = placed[i - 1]?.raw;
    if (before !== "{%" && before !== "{%-") {
      // `{% set a = 1 %}` is no block.
      if (raw === "=" && open.at(-1)?.name === "set" && open.at(-1)?.start === tag) open.pop();
    } else if (raw.startsWith("end")) open.pop();
    else if (BLOCKS.includes(raw)) open.push({ name: raw, start: tag });
  });
  return open;
}

function lastOpen(text: string, placed: PlacedToken[]): (Block & { line: number }) | undefined {
  const block = openBlocks(placed).at(-1);
  return block && { ...block, line: placeOf(text, block.start).line };
}

function placeOf(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split(/\r\n|\r|\n/);
  return { line: lines.length, column: [...lines.at(-1)!].length + 1 };
}
