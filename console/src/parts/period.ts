export const periodChoices = [
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
  { value: "90", label: "Last 90 days" },
];

export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

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
