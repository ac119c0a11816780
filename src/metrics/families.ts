/** One measurement. Labels must not need escaping; `part` is what a histogram appends to the name. */
export interface Sample {
  part?: "_bucket" | "_sum" | "_count";
  labels?: Record<string, string | number>;
  value: number;
}

/** All measurements with one name. */
export interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The text that Prometheus reads: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. */
export function toText(families: Family[]): string {
  return families
    .map(({ name, type, help, samples }) =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map((sample) => toLine(name, sample)),
        "",
      ].join("\n"),
    )
    .join("");
}

function toLine(name: string, { part, labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  return `${name}${part ?? ""}${pairs.length > 0 ? `{${pairs.join()}}` : ""} ${value}`;
}

/** A single measurement under its own name. */
export function single(name: string, type: "counter" | "gauge", help: string, value: number): Family {
  return { name, type, help, samples: [{ value }] };
}

/** The cumulative buckets of a histogram; `counts` has one more entry than `bounds`, for larger values. */
export function histogram(
  bounds: readonly number[],
  { counts, sum }: { counts: ArrayLike<number>; sum: number },
  labels: Record<string, string> = {},
): Sample[] {
  let count = 0;
  const buckets = [...bounds, "+Inf"].map((le, at): Sample => {
    count += counts[at]!;
    return { part: "_bucket", labels: { ...labels, le }, value: count };
  });
  return [...buckets, { part: "_sum", labels, value: sum }, { part: "_count", labels, value: count }];
}
