import { isDay } from "./format.ts";

export const periodChoices = [
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
  { value: "90", label: "Last 90 days" },
];

export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The whole days of the reader from one day such as 2026-01-31 to another, or that day alone; null when they are none. */
export function rangeOf(from = "", to = from): { from: string; to: string } | null {
  if (!isDay(from) || !isDay(to) || from > to) return null;
  const end = new Date(`${to}T00:00:00`);
  end.setDate(end.getDate() + 1);
  return { from: new Date(`${from}T00:00:00`).toISOString(), to: end.toISOString() };
}

/** So many whole days of the reader, today the last of them; `before` names the same number of days before. */
export function periodOf(days: string | undefined, fallback = "30") {
  const count = Number(periodChoices.find(({ value }) => value === days)?.value ?? fallback);
  const midnight = (offset: number) => {
    const date = new Date();
    date.setHours(0, 0, 0, 0);
    date.setDate(date.getDate() + offset);
    return date.toISOString();
  };
  return {
    days: String(count),
    from: midnight(1 - count),
    to: midnight(1),
    before: { from: midnight(1 - 2 * count), to: midnight(1 - count) },
  };
}
