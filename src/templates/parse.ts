import { parse, tokenize } from "@huggingface/jinja";
import { quoted } from "../errors.ts";
import { type ErrorDetail, type PlacedToken, scanTokens } from "./tokens.ts";

/** The library's tree of a template. Throws the errors of the library, for `describeSyntaxError`. */
export function toProgram(text: string): object {
  return parse(toTokens(text));
}

/**
 * The position and the reason of the library's `error`, to follow "is not a valid template". Lines end as in editors;
 * columns count code points.
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
 * Shortens white space, in which the library searches for `{% generation %}` in quadratic time: half a minute for 300 KB.
 * Neither variables nor errors depend on its length.
 */
function toTokens(text: string): Token[] {
  return tokenize(text.replace(/\s{100,}/g, " "), { lstrip_blocks: true, trim_blocks: true });
}

type Token = ReturnType<typeof tokenize>[number];

/** A token that records when its type is read, by a getter that all tokens share: 250,000 of their own take 100 MB. */
interface Watched {
  value: string;
  token: Token;
  index: number;
}

/** The parser reports no positions, but it fails at the last token whose type it reads. */
function parserError(text: string, placed: PlacedToken[]): ErrorDetail {
  let last = 0;
  let failed: unknown;
  const tokens = toTokens(text).filter(({ type }) => type !== "Text");
  const prototype = {
    index: 0,
    token: { value: "", type: "" },
    get type() {
      last = this.index;
      return this.token.type;
    },
  };
  const watchedTokens = tokens.map(
    (token, index): Token =>
      Object.assign(Object.create(prototype), { value: token.value, token, index } satisfies Watched),
  );
  try {
    parse(watchedTokens);
  } catch (error) {
    failed = error;
  }
  if (failed instanceof TypeError) return unclosed(text, placed); // it read a token after the end
  const message = failed instanceof Error ? failed.message : "";
  if (looksAhead(message, tokens[last - 1]?.type)) last--;
  const { start, raw, tag } = placed[Math.min(last, placed.length - 1)]!;
  return { at: start, tag, what: explain(message, raw, () => lastOpen(text, placed.slice(0, last - 1))) };
}

/** The parser reads the next token before it rejects a string or the variable of a loop. */
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
