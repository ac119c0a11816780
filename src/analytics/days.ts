import { DateTime } from "luxon";
import { badInput } from "../errors.ts";
import { MAX_DAYS, type UsageInput } from "./inputs.ts";

export interface Day {
  day: string;
  from: Date;
  to: Date;
}

/** The days of a time zone that a period overlaps, cut to the period; a day may have 23 or 25 hours. */
export function daysOf({ from, to, timeZone }: Pick<UsageInput, "from" | "to" | "timeZone">): Day[] {
  const days: Day[] = [];
  let start = DateTime.fromJSDate(from, { zone: timeZone }).startOf("day");
  while (start.toMillis() < to.getTime()) {
    if (days.length === MAX_DAYS)
      throw badInput([
        { path: "to", message: `must be at most ${MAX_DAYS} days after from to group by day` },
      ]);
    const next = start.plus({ days: 1 }).startOf("day");
    days.push({
      day: start.toISODate()!,
      from: start.toJSDate() < from ? from : start.toJSDate(),
      to: next.toJSDate() > to ? to : next.toJSDate(),
    });
    start = next;
  }
  return days;
}
