import { printableLines } from "../printable.ts";
import { writeOut } from "./output.ts";

/** Prints lines until their reader ends. */
export function printLines(lines: string[]): Promise<void> {
  return writeOut(
    undefined,
    lines.map((line) => `${line}\n`),
  );
}

/** Prints a value as JSON. Control characters are escaped, so that a terminal does not act on them. */
export function printJson(value: unknown): Promise<void> {
  return printLines([printableLines(JSON.stringify(value, null, 2))]);
}

const DOLLARS = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

/** To the second, in UTC: readable, and a valid time for options. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, "2026-01-31T09:30:00".length)}Z`;
}

export function formatCost(dollars: number | null | undefined): string | null {
  return dollars == null ? null : DOLLARS.format(dollars);
}

export function formatCount(count: number | null | undefined): string | null {
  return count == null ? null : count.toLocaleString("en");
}

export function formatMs(ms: number | null | undefined): string | null {
  return ms == null ? null : `${formatCount(ms)} ms`;
}
