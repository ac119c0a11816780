import { z } from "zod";

const EARLIEST_MS = Date.parse("0001-01-01T00:00:00.000Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59.999Z");
const INVALID_TIMESTAMP =
  "must be an existing time as ISO 8601, such as 2026-01-31T09:30:00Z, or as epoch milliseconds, in the years 1 to 9999";

/** A point in time: ISO 8601 (UTC when it names no zone), epoch milliseconds, or nothing (null, absent, ""). */
export const optionalTimestamp = () =>
  z
    .union([z.string(), z.number(), z.null()], { error: () => INVALID_TIMESTAMP })
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

const isoDateTime = z.union([
  z.iso.datetime({ offset: true, local: true }),
  z.iso.datetime({ offset: true, local: true, precision: -1 }), // to the minute
]);
const isoDate = z.iso.date();
const NAMES_ITS_ZONE = /(?:Z|[+-]\d\d:\d\d)$/;
/** ISO 8601 with nanoseconds and a zone takes 35; longer texts are not parsed. */
const MAX_TIMESTAMP_CHARACTERS = 64;

/** The time of a text in ISO 8601, in UTC when it names no zone; undefined when there is no such time. */
export function parseTimestamp(value: string): Date | undefined {
  if (value.length > MAX_TIMESTAMP_CHARACTERS) return undefined;
  if (isoDate.safeParse(value).success) return new Date(`${value}T00:00:00Z`);
  const strict = toStrictIso(value);
  if (!isoDateTime.safeParse(strict).success) return undefined;
  return new Date(NAMES_ITS_ZONE.test(strict) ? strict : `${strict}Z`);
}

const DATE_CHARACTERS = "2026-01-31".length;

/** Python writes a space for the T; others write the zone without its colon or its minutes. */
function toStrictIso(value: string): string {
  const upper = value.toUpperCase();
  const separator = upper[DATE_CHARACTERS];
  if (separator !== "T" && separator !== " ") return upper;
  const time = upper.slice(DATE_CHARACTERS + 1);
  const zone = /[+-]\d\d(?:\d\d)?$/.exec(time)?.[0] ?? "";
  const colonized = zone && `${zone.slice(0, 3)}:${zone.slice(3) || "00"}`;
  return `${upper.slice(0, DATE_CHARACTERS)}T${time.slice(0, time.length - zone.length)}${colonized}`;
}
