import { type Converted, isVariable, type Piece, refuseAt, toJinja } from "./pieces.ts";

const PART = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/** Converts a template of Python's `str.format`, as LangChain and others call their "f-string". */
export function fromFString(template: string): Converted {
  const pieces: Piece[] = [];
  let text = "";
  let from = 0;
  for (const { 0: part, 1: name, index: at } of template.matchAll(PART)) {
    text += template.slice(from, at);
    from = at + part.length;
    if (part === "{{" || part === "}}") {
      text += part[0];
      continue;
    }
    if (name === undefined) return refuseAt(template, at, `a single ${part} opens or closes no variable`);
    if (name.includes(".") || !isVariable(name))
      return refuseAt(template, at, `${part} is no plain variable, without members, conversion or format`);
    pieces.push({ text }, { tag: `{{ ${name} }}` });
    text = "";
  }
  pieces.push({ text: text + template.slice(from) });
  return { text: toJinja(pieces) };
}
