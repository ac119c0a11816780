import { hash } from "node:crypto";
import { MAX_HASHED_CHARACTERS } from "./jsonSize.ts";

/** What a Map remembers a text by. No text that is stored has the character U+0000. */
export const keyOfText = (text: string): string =>
  text.length <= MAX_HASHED_CHARACTERS ? text : `\0${text.length} ${hash("sha256", text, "base64")}`;
