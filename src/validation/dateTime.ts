import { z } from "zod";

const EARLIEST_MS = Date.parse("0001-01-01T00:00:00.000Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59.999Z");
const INVALID_TIMESTAMP =
  "must be an existing time as ISO 8601, such as 2026-01-31T09:30:00Z, or as epoch milliseconds, in the years 1 to 9999";

/** ISO 8601 with nanoseconds and a zone takes 35; longer texts are not parsed. */
const MAX_TIMESTAMP_CHARACTERS = 64;
const DATE = `(?!0000)(?:${z.regexes.date.source.slice(1, -1)})`; // without its anchors
const TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?";
/** Python writes a space for the T; others write the zone without its colon or its minutes. */
const ZONE = "[Zz]|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?";
/** Without \d, as OpenAPI has it, too: some languages take it for the digits of every script. */
export const TIMESTAMP = new RegExp(
  `^(?:(${DATE})(?:[Tt ](${TIME})(${ZONE})?)?)?$`.replaceAll("\\d", "[0-9]"),
);

// What OpenAPI says of them; they are validated together, below. REST reads milliseconds as text, too, with a warning.
const isoText = z
  .string()
  .meta({ pattern: `${TIMESTAMP.source}|^[0-9]{1,14}$`, maxLength: MAX_TIMESTAMP_CHARACTERS });
const epochMs = z.number().meta({ minimum: EARLIEST_MS, maximum: LATEST_MS });

/** A point in time: ISO 8601 (UTC when it names no zone), epoch milliseconds, or nothing (null, absent, ""). */
export const optionalTimestamp = () =>
  z
    .union([isoText, epochMs, z.null()], { error: () => INVALID_TIMESTAMP })
    .optional()
    .transform((value, context) => {
      if (value === undefined || value === null || value === "") return null;
      const time = typeof value === "number" ? new Date(Math.trunc(value)) : parseTimestamp(value);
      if (time && time.getTime() >= EARLIEST_MS && time.getTime() <= LATEST_MS) return time;
      context.addIssue({ code: "custom", message: INVALID_TIMESTAMP });
      return z.NEVER;
    });

/** The same, but not nothing. */
export const requiredTimestamp = () =>
  optionalTimestamp().transform((value, context) => {
    if (value) return value;
    context.addIssue({ code: "custom", message: "is required" });
    return z.NEVER;
  });

/** The time of a text in ISO 8601, in UTC when it names no zone; undefined when there is no such time. */
export function parseTimestamp(value: string): Date | undefined {
  if (value.length > MAX_TIMESTAMP_CHARACTERS) return undefined;
  const [, date, time = "00:00", zone = "Z"] = TIMESTAMP.exec(value) ?? [];
  if (date === undefined) return undefined;
  const [hours = "Z", minutes = "00"] = zone.match(/[+-]?\d\d/g) ?? [];
  return new Date(`${date}T${time}${hours === "Z" ? hours : `${hours}:${minutes}`}`);
}
