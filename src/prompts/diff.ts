import { createTwoFilesPatch, FILE_HEADERS_ONLY, formatPatch } from "diff";
import type { Model, Variable } from "./entities.ts";
import { followFromMessages, indentedMessages, type Message } from "./messages.ts";

/** The parts of a prompt version that are compared. */
export interface VersionText {
  version: string;
  text: string;
  systemText: string | null;
  messages: Message[] | null;
  model: Model | null;
  variables: Variable[];
}

/**
 * The unified diff of each part of two versions, as `git diff` prints it; empty for parts that are the same. A missing part is
 * `/dev/null`. A part with more than 500 changed lines, or fewer in a part of more than 6,000 lines, is replaced as a whole, and so
 * is one that has more than 2,500,000 characters in the two versions together; of one with more than 100,000 lines it only says that it differs.
 * Yields undefined where others may run, at most 70 ms apart.
 * `spend` gets the length of each part that is written as JSON. It may be 100 times that of the stored text: at a depth of 95,
 * each line has 190 spaces in front.
 */
export function* diffVersions(
  from: VersionText,
  to: VersionText,
  spend: (bytes: number) => void = () => {},
): Generator<string | undefined> {
  for (const { name, read, isWritten } of parts) {
    const before = yield* joined(read(from));
    yield; // JSON of 6 MB takes 30 ms to write
    const after = yield* joined(read(to));
    if (isWritten) spend((before?.length ?? 0) + (after?.length ?? 0));
    const oldName = before === null ? "/dev/null" : `${from.version}/${name}`;
    const newName = after === null ? "/dev/null" : `${to.version}/${name}`;
    yield before === after ? "" : yield* diffTexts(oldName, newName, before ?? "", after ?? "");
  }
}

/** Work that others may interrupt where it yields. */
type Interruptible<Result> = Generator<undefined, Result>;

interface Part {
  name: string;
  read: (version: VersionText) => string | Generator<string> | null;
  /** Whether it is JSON that is written for the comparison. */
  isWritten?: boolean;
}

const parts: Part[] = [
  { name: "text", read: (version) => (followFromMessages(version).text ? null : version.text) },
  {
    name: "systemText",
    read: (version) => (followFromMessages(version).systemText ? null : version.systemText),
  },
  { name: "messages", read: ({ messages }) => messages && indentedMessages(messages), isWritten: true },
  { name: "model", read: ({ model }) => model && toJson(model), isWritten: true },
  { name: "variables", read: ({ variables }) => toJson(variables), isWritten: true },
];

function* joined(pieces: Generator<string> | string | null): Interruptible<string | null> {
  if (pieces === null || typeof pieces === "string") return pieces;
  let text = "";
  for (const piece of pieces) {
    text += piece;
    yield;
  }
  return text;
}

// The time grows with the changed lines times all lines, and blocks other requests. A limit of lines rather than of time
// gives the same diff on every machine.
const MAX_CHANGED_LINES = 500;
const MAX_LINES = 50_000;
const MAX_STEPS = 3_000_000;
/** Lines are compared to their end: 240 of 23,000 characters each took 0.4 s. Texts have a million at most, JSON more. */
const MAX_COMPARED_CHARACTERS = 2_500_000;
/** A million lines take 0.1 to 0.2 s to write as JSON. */
const MAX_SHOWN_LINES = 100_000;

function* diffTexts(oldName: string, newName: string, before: string, after: string): Interruptible<string> {
  const [removed, added] = [countLines(before), countLines(after)];
  const lines = Math.max(removed, added, 1);
  if (lines > MAX_SHOWN_LINES) return `Files ${oldName} and ${newName} differ\n`;
  if (lines <= MAX_LINES && before.length + after.length <= MAX_COMPARED_CHARACTERS) {
    const maxEditLength = Math.min(MAX_CHANGED_LINES, Math.floor(MAX_STEPS / lines));
    const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, maxEditLength };
    const patch = createTwoFilesPatch(oldName, newName, before, after, undefined, undefined, options);
    if (patch !== undefined) return patch;
  }
  const hunk = { oldStart: 1, oldLines: removed, newStart: 1, newLines: added, lines: [] };
  const files = { oldFileName: oldName, newFileName: newName, oldHeader: undefined, newHeader: undefined };
  let patch = formatPatch({ ...files, hunks: [hunk] }, FILE_HEADERS_ONLY);
  for (const [prefix, text] of [
    ["-", before],
    ["+", after],
  ] as const)
    for (const piece of prefixLines(prefix, text)) {
      patch += piece;
      yield;
    }
  return patch;
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return isUnended(text) ? lines + 1 : lines;
}

const isUnended = (text: string) => text !== "" && !text.endsWith("\n");

/** Characters of which the lines are prefixed in one piece: half a million lines at once took up to 0.3 s. */
const PREFIXED_AT_ONCE = 64 * 1024;

function* prefixLines(prefix: string, text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf("\n", at + PREFIXED_AT_ONCE);
    const end = lineEnd === -1 ? text.length : lineEnd + 1;
    const piece = text.slice(at, text[end - 1] === "\n" ? end - 1 : end);
    yield `${prefix}${piece.replaceAll("\n", `\n${prefix}`)}\n`;
    at = end;
  }
  if (isUnended(text)) yield "\\ No newline at end of file\n";
}

/** Keys in alphabetical order at every depth, so that only what changed differs. */
function toJson(value: unknown): string {
  const ordered = (_: string, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return `${JSON.stringify(value, ordered, 2)}\n`;
}
