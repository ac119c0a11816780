import { InvalidArgumentError } from "commander";
import { parseTimestamp } from "../validation/dateTime.ts";

/** The time of an option, in ISO 8601. */
export function parseTime(value: string): Date {
  const time = parseTimestamp(value);
  if (!time) throw new InvalidArgumentError("It is not an existing time in ISO 8601.");
  return time;
}

/** The time of an option, in ISO 8601 or as an age such as `90m` or `7d`. */
export function parsePastTime(value: string): Date {
  const time = timeBefore(value, "mhdw") ?? parseTimestamp(value);
  if (!time)
    throw new InvalidArgumentError("It must be an age such as 90m, 12h, 7d or 4w, or a time in ISO 8601.");
  return time;
}

const msIn: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** The time an age such as `90d` ago; undefined when it is no age in one of the units. */
export function timeBefore(age: string, units: string): Date | undefined {
  const [, count, unit = ""] = /^(\d{1,5})([a-z])$/.exec(age) ?? [];
  if (count === undefined || !units.includes(unit)) return undefined;
  return new Date(Date.now() - Number(count) * msIn[unit]!);
}
