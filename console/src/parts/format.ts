const count = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const clock = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const dayOfYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", year: "numeric" });

export const formatCount = (value: number | null): string => (value === null ? "–" : count.format(value));
export const formatRows = (rows: number): string => (rows === 1 ? "1 row" : `${formatCount(rows)} rows`);
export const formatCompact = (value: number | null): string =>
  value === null || value < 10_000 ? formatCount(value) : compact.format(value);

/** US dollars with as many digits as a small cost needs. */
export function formatCost(dollars: number | null | undefined): string {
  if (dollars == null) return "–";
  if (dollars === 0) return "$0";
  const digits = dollars >= 100 ? 0 : dollars >= 0.1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(dollars)));
  return `$${dollars.toLocaleString("en", { minimumFractionDigits: Math.min(2, digits), maximumFractionDigits: digits })}`;
}

/** US dollars for a million tokens, with every digit of the price. */
export const formatPrice = (dollars: number): string =>
  `$${dollars.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 20 })}`;

export function formatLatency(ms: number | null | undefined): string {
  if (ms == null) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

export const formatExactTime = (time: string): string => exact.format(new Date(time));

/** As short as it can be understood: an age while it is young, then the date. */
export function formatTime(time: string, now = Date.now()): string {
  const date = new Date(time);
  const seconds = Math.round((now - date.getTime()) / 1_000);
  if (seconds >= 0 && seconds < 10) return "just now";
  if (seconds >= 0 && seconds < 60) return `${seconds} s ago`;
  if (seconds >= 0 && seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  const isToday = date.toDateString() === new Date(now).toDateString();
  if (isToday) return clock.format(date).slice(0, 5);
  return isThisYear(date, now)
    ? `${day.format(date)}, ${clock.format(date).slice(0, 5)}`
    : dayOfYear.format(date);
}

export const formatClock = (time: string, now = Date.now()): string => {
  const date = new Date(time);
  return `${dateOf(date, now)} ${clock.format(date)}`;
};

/** A day such as 2026-01-31, which has no zone, as `Jan 31`, with its year when that is not this one. */
export const formatDay = (key: string, now = Date.now()): string =>
  isDay(key) ? dateOf(new Date(`${key}T12:00:00`), now) : key;

/** The day of a time for the reader, such as 2026-01-31. */
export function dayOf(date: Date): string {
  const pad = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** Whether a text, such as one of an address, is a day such as 2026-01-31. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(new Date(`${text}T12:00:00`).getTime());

const isThisYear = (date: Date, now: number): boolean => date.getFullYear() === new Date(now).getFullYear();

const dateOf = (date: Date, now: number): string => (isThisYear(date, now) ? day : dayOfYear).format(date);

/** Any JSON value as text to read: a string as it is, everything else indented. */
export function formatJson(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
