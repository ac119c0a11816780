import { z } from "zod";
import "./messages.ts";
import { always, onlyOfItsType } from "./typeFirst.ts";

/** A string that every database can keep: no NUL character, no half of a surrogate pair. */
export const text = () =>
  z
    .string()
    .refine(always, onlyOfItsType)
    .superRefine((value, context) => {
      const message = textError(value);
      if (message) context.addIssue({ code: "custom", message });
    });

/** As long as a path may be. The ORM takes time for each character of a text that it looks up: 8 s for 10 MB. */
const MAX_LOOKUP_CHARACTERS = 16_384;

/** Text by which something is looked up. */
export const lookUpText = () => text().max(MAX_LOOKUP_CHARACTERS);

/** Text in which the empty string means the same as null and absent: one published client sends it so. */
export const optionalText = (given = text()) => given.nullish().transform((value) => value || null);

/** An id that this service gave to something; `kind` says of what, for the sentence that refuses another. */
export const idOf = (kind: string) => z.guid({ error: `must be the id of ${kind}` }).toLowerCase();

const SLUG = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
const LONGEST_SLUG = 128;

/** The slug of something new; slugs that are only looked up may be any text. */
export const newSlug = () =>
  text().max(LONGEST_SLUG).regex(SLUG, {
    error: "must be lower-case letters and digits, with single - or _ between, such as country-guide",
  });

/** What no database can keep of a string; undefined when there is nothing. */
export function textError(value: string): string | undefined {
  if (value.includes("\0")) return "must not contain the character NUL (U+0000)";
  if (!value.isWellFormed()) return "must not contain half of a surrogate pair (a lone surrogate)";
  return undefined;
}
