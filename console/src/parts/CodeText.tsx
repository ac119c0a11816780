import { Fragment } from "react";
import styles from "./CodeText.module.css";

interface Piece {
  kind: "text" | "variable" | "block" | "comment";
  text: string;
}

const marks = [
  { open: "{{", close: "}}", kind: "variable" },
  { open: "{%", close: "%}", kind: "block" },
  { open: "{#", close: "#}", kind: "comment" },
] as const;

/** The pieces of a Jinja template, in time linear in its length. */
export function piecesOf(template: string): Piece[] {
  const pieces: Piece[] = [];
  let textStart = 0;
  let at = template.indexOf("{");
  while (at !== -1) {
    const mark = marks.find(({ open }) => template.startsWith(open, at));
    const end = mark ? template.indexOf(mark.close, at + 2) : -1;
    if (mark && end === -1) break; // it is not closed, so neither is a later one of this kind
    if (mark) {
      if (at > textStart) pieces.push({ kind: "text", text: template.slice(textStart, at) });
      pieces.push({ kind: mark.kind, text: template.slice(at, end + 2) });
      textStart = end + 2;
    }
    at = template.indexOf("{", mark ? textStart : at + 1);
  }
  if (textStart < template.length) pieces.push({ kind: "text", text: template.slice(textStart) });
  return pieces;
}

/** A template with its variables marked. */
export function Template({ text }: { text: string }) {
  return (
    <pre className={styles.code}>
      <TemplatePieces text={text} />
    </pre>
  );
}

export function TemplatePieces({ text }: { text: string }) {
  return piecesOf(text).map((piece, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other identity
    <Fragment key={n}>
      {piece.kind === "text" ? piece.text : <span className={styles[piece.kind]}>{piece.text}</span>}
    </Fragment>
  ));
}

/** Text of models and callers, as it is: nothing in it is markup. */
export function PlainText({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre className={`${styles.code} ${styles.limited}`} tabIndex={0}>
      {text}
    </pre>
  );
}
