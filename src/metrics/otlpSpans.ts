import type { Family } from "./families.ts";

/** Counts the spans that OpenTelemetry delivers. Reasons are a fixed few. */
export function countOtlpSpans() {
  const counts = new Map<string, { result: string; reason: string; value: number }>();
  return {
    add: (result: "accepted" | "rejected", reason: string, count: number): void => {
      if (count === 0) return;
      const key = `${result} ${reason}`;
      const value = (counts.get(key)?.value ?? 0) + count;
      counts.set(key, { result, reason, value });
    },
    family: (): Family => ({
      name: "gabbro_otlp_spans_total",
      type: "counter",
      help: "Spans that came by OTLP, and why some were rejected.",
      samples: [...counts.values()].map(({ value, ...labels }) => ({ labels, value })),
    }),
  };
}

export type OtlpSpanCounts = ReturnType<typeof countOtlpSpans>;
