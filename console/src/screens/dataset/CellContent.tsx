import type { GridColumn } from "./cells.ts";
import styles from "./Dataset.module.css";

const MAX_SHOWN_CHARACTERS = 300;
/** Decoding larger pictures would hold up scrolling. */
const MAX_PICTURE_CHARACTERS = 100_000;

/**
 * What a cell shows: the beginning of its text, or the picture that it holds itself. A picture at another address is not
 * loaded, as its server would learn who looks at it.
 */
export function CellContent({ text, column }: { text: string; column: GridColumn }) {
  const isPicture =
    column.type === "IMAGE" && text.startsWith("data:image/") && text.length <= MAX_PICTURE_CHARACTERS;
  if (isPicture) return <img className={styles.picture} src={text} alt={column.title} decoding="async" />;
  return text.slice(0, MAX_SHOWN_CHARACTERS);
}
