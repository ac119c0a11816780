import { formatClock, formatExactTime, formatTime } from "./format.ts";

/** A time in the reader's zone; the exact one shows on hover. */
export function Time({ at, as = "age" }: { at: string; as?: "age" | "clock" }) {
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {as === "age" ? formatTime(at) : formatClock(at)}
    </time>
  );
}
