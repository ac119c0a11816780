import { printableLines } from "../printable.ts";
import { writeOut } from "./output.ts";

/** Prints lines until whoever reads them has enough. */
export function printLines(lines: string[]): Promise<void> {
  return writeOut(
    undefined,
    lines.map((line) => `${line}\n`),
  );
}

/** Prints a value as JSON. What a terminal would act on is escaped, which JSON allows in every text. */
export function printJson(value: unknown): Promise<void> {
  return printLines([printableLines(JSON.stringify(value, null, 2))]);
}

const DOLLARS = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

/** As people read it, and as options of the command line take it: to the second, in UTC. */
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
