import { z } from "zod";
import { MAX_HASHED_CHARACTERS } from "../limits/jsonSize.ts";
import { wordsIn } from "../limits/words.ts";
import "./messages.ts";
import { always, onlyOfItsType } from "./typeFirst.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: this character is what it is about
export const WITHOUT_NUL = /^[^\u0000]*$/;
const NUL = "must not contain the character NUL (U+0000)";

/**
 * A string that every database can store: no NUL character, no half of a surrogate pair. One of more than `max` characters is
 * refused before anything looks at them: 30 times a name of 9.7 MB took 0.7 s.
 */
export const text = (max = Number.POSITIVE_INFINITY) =>
  stringUpTo(max)
    .regex(WITHOUT_NUL, { error: NUL, abort: true }) // and not in textError alone, so that OpenAPI states it
    .superRefine((value, context) => {
      const message = textError(value);
      if (message) context.addIssue({ code: "custom", message });
    });

function stringUpTo(max: number): z.ZodString {
  const string = z.string().refine(always, onlyOfItsType);
  return Number.isFinite(max) ? string.max(max, { abort: true }) : string;
}

/**
 * Longer than any name. Three of them, with the twelve bytes that a character may take in a URL, fit into the 16 kB that
 * Node.js reads of all headers.
 */
const MAX_NAME_CHARACTERS = 400;

/** A name to look up that stood for any text before names had a limit. */
export const lookUpName = () => text(MAX_HASHED_CHARACTERS);

/** The name of a version or a tag to look up. */
export const lookUpText = () => text(MAX_NAME_CHARACTERS);

/**
 * A slug to look up, of about as many characters as a path may have. Callers ask for what is not there, which is no invalid input;
 * OpenAPI says what makes sense. The ORM takes time for each character of a key: 8 s for 10 MB.
 */
export const lookUpSlug = () =>
  text(MAX_HASHED_CHARACTERS).meta({ type: "string", maxLength: MAX_NAME_CHARACTERS });

/** Words to find, between one and `maxWords`. */
export const wordsToFind = (maxCharacters: number, maxWords: number) =>
  text(maxCharacters)
    .regex(/[\p{L}\p{N}]/u, { error: "must have a letter or a digit in it" })
    .refine((value) => wordsIn(value).length <= maxWords, { error: `must have at most ${maxWords} words` });

/** Text that is absent when it is empty, as one published client sends it. */
export const optionalText = (schema = text()) => schema.nullish().transform((value) => value || null);

/**
 * An id of this service; `kind` names its entity in the error message. Of what is no id nothing is written in lower case: 30
 * times 9.6 MB of a letter that becomes two took 3.7 s.
 */
export const idOf = (kind: string) =>
  z.guid({ error: `must be the id of ${kind}`, abort: true }).toLowerCase();

const SLUG = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
const MAX_SLUG_CHARACTERS = 128;

/** The slug of a new entity; slugs to look up may be any text. */
export const newSlug = () =>
  text(MAX_SLUG_CHARACTERS).regex(SLUG, {
    error: "must be lower-case letters and digits, with single - or _ between, such as country-guide",
  });

/** The reason why a database cannot store a string; undefined when it can. */
export function textError(value: string): string | undefined {
  if (value.includes("\0")) return NUL;
  if (!value.isWellFormed()) return "must not contain half of a surrogate pair (a lone surrogate)";
  return undefined;
}
