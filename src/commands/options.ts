import { InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { detailsOf } from "../validation/messages.ts";

/** Lines that can be typed as they are, for the end of a command's help. */
export function examples(...lines: string[]): string {
  return ["", "Examples:", ...lines.map((line) => `  $ gabbro ${line}`)].join("\n");
}

export function jsonOption(): Option {
  return new Option("--json", "print JSON, for programs");
}

const MAX_LIMIT = 10_000;

/** The option for how many entries of a list to print. */
export function limitOption(fallback: number, max = MAX_LIMIT): Option {
  return countOption("--limit <count>", "how many at most", max).default(fallback);
}

/** An option for a whole number from 1 on. */
export function countOption(flags: string, description: string, max = MAX_LIMIT): Option {
  const range = `from 1 to ${max.toLocaleString("en")}`;
  return new Option(flags, `${description}, ${range}`).argParser((value) => {
    const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (count < 1 || count > max) throw new InvalidArgumentError(`It must be a number ${range}.`);
    return count;
  });
}

export function parseNumber(value: string): number {
  const number = value.trim() === "" ? Number.NaN : Number(value);
  if (!Number.isFinite(number)) throw new InvalidArgumentError("It must be a number.");
  return number;
}

/**
 * Parses options by a schema of the APIs; throws a usage error for invalid ones. `names` maps fields of the schema to
 * options with another name.
 */
export function checkOptions<Output>(
  schema: z.ZodType<Output>,
  options: unknown,
  names: Record<string, string> = {},
): Output {
  const { data, error } = schema.safeParse(options);
  if (!error) return data;
  const sentences = detailsOf(error.issues).map(({ path, message }) => `${names[path] ?? path} ${message}`);
  throw new InvalidArgumentError(`${sentences.join("; ")}.`);
}
