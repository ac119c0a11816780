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
 * The unified diff of each part of two versions, as `git diff` prints it; empty for parts that are the same. A
 * missing part is `/dev/null`. A part with more than 500 changed lines, or fewer in a part of more than 6,000 lines, is
 * replaced as a whole. Each part takes up to 40 ms.
 */
export function* diffVersions(from: VersionText, to: VersionText): Generator<string> {
  for (const { name, read } of parts) {
    const [before, after] = [read(from), read(to)];
    const oldName = before === null ? "/dev/null" : `${from.version}/${name}`;
    const newName = after === null ? "/dev/null" : `${to.version}/${name}`;
    yield before === after ? "" : diffTexts(oldName, newName, before ?? "", after ?? "");
  }
}

const parts: { name: string; read: (version: VersionText) => string | null }[] = [
  { name: "text", read: (version) => (followFromMessages(version).text ? null : version.text) },
  {
    name: "systemText",
    read: (version) => (followFromMessages(version).systemText ? null : version.systemText),
  },
  { name: "messages", read: ({ messages }) => messages && indentedMessages(messages) },
  { name: "model", read: ({ model }) => model && toJson(model) },
  { name: "variables", read: ({ variables }) => toJson(variables) },
];

// The time grows with the changed lines times all lines, and blocks other requests. A limit of lines rather than of time
// gives the same diff on every machine.
const MAX_CHANGED_LINES = 500;
const MAX_LINES = 50_000;
const MAX_STEPS = 3_000_000;

function diffTexts(oldName: string, newName: string, before: string, after: string): string {
  const lines = Math.max(toLines(before).length, toLines(after).length, 1);
  if (lines > MAX_LINES) return replaceAll(oldName, newName, before, after);
  const maxEditLength = Math.min(MAX_CHANGED_LINES, Math.floor(MAX_STEPS / lines));
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, maxEditLength };
  return (
    createTwoFilesPatch(oldName, newName, before, after, undefined, undefined, options) ??
    replaceAll(oldName, newName, before, after)
  );
}

function replaceAll(oldName: string, newName: string, before: string, after: string): string {
  const [removed, added] = [toLines(before), toLines(after)];
  const hunk = {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...prefixLines("-", removed, before), ...prefixLines("+", added, after)],
  };
  const patch = {
    oldFileName: oldName,
    newFileName: newName,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: [hunk],
  };
  return formatPatch(patch, FILE_HEADERS_ONLY);
}

function toLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function prefixLines(prefix: string, lines: string[], text: string): string[] {
  const isUnended = text !== "" && !text.endsWith("\n");
  return [...lines.map((line) => prefix + line), ...(isUnended ? ["\\ No newline at end of file"] : [])];
}

/** Keys in alphabetical order at every depth, so that only what changed differs. */
function toJson(value: unknown): string {
  const ordered = (_: string, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return `${JSON.stringify(value, ordered, 2)}\n`;
}
