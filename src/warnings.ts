/** Every code of a warning, with its meaning. */
export const warningCodes = {
  COLUMN_NOT_FOUND: "Values were left out, as the dataset does not have their columns.",
  PROMPT_NOT_FOUND: "There is no prompt with that slug.",
  VERSION_NOT_FOUND: "The prompt does not have the version that was asked for.",
  TAG_NOT_FOUND: "The prompt does not have the tag that was asked for.",
  NOT_PUBLISHED: "The prompt has no production version, or no version at all.",
  VARIABLE_NOT_USED: "Variables are declared that the texts do not use.",
  VARIABLE_NOT_DECLARED: "The texts use variables that are not declared.",
  MESSAGES_JOINED: "The text of the prompt shows several messages as one.",
  PLACEHOLDER_NOT_FILLED: "No messages were given for a placeholder; it is left out.",
  PLACEHOLDER_NOT_USED: "Messages were given for a placeholder that the prompt does not have.",
  VALUE_MISSING: "Variables of the texts were given no value; they are empty.",
  FORM_CONVERTED: "A value came in another form than documented, and was read all the same.",
  EXPERIMENT_NOT_FOUND: "There is no experiment with that id.",
  END_BEFORE_START: "An end lies before its start; both were kept.",
  VALUE_NOT_USED: "Values were given that the texts do not use.",
} as const;

export type WarningCode = keyof typeof warningCodes;

/** What a caller should know of something that was done: `path` leads to the part of the input that is meant. */
export interface Warning {
  code: WarningCode;
  /** A sentence. */
  message: string;
  path: string;
}

/** More say little, and a trace may have one for each of its logs. */
const MAX_SENTENCES = 20;

/** The sentences of warnings as one text, each once; null for none. */
export function warningText(warnings: Warning[]): string | null {
  const sentences = [...new Set(warnings.map(({ message }) => message))];
  const more = sentences.length - MAX_SENTENCES;
  if (more > 0) sentences.splice(MAX_SENTENCES, more, `There are ${more} more warnings.`);
  return sentences.length === 0 ? null : sentences.join(" ");
}
