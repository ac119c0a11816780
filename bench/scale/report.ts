import pg from "pg";
import type { Throughput } from "./gateways.ts";
import { measure, type Probe, percentile, type Target } from "./probes.ts";
import { countStatements } from "./statements.ts";

function table(head: string[], rows: (string | number)[][]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Latencies in the small database, then in the large one for the workspace in the middle and for the biggest. */
export async function latencyTable(
  probes: Probe[],
  targets: Target[],
  rounds: number,
  say: (words: string) => void,
): Promise<string> {
  const rows: string[][] = [];
  for (const probe of probes) {
    const found = await measure(probe, targets, rounds);
    const [base, ...others] = found.map(
      (values) => [percentile(values, 50), percentile(values, 99)] as const,
    );
    const cells = [base!, ...others].map(([p50, p99]) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`);
    const ratios = others.map(
      ([p50, p99]) => `${(p50 / base![0]).toFixed(2)} / ${(p99 / base![1]).toFixed(2)}`,
    );
    rows.push([probe.name, cells[0]!, cells[1]!, ratios[0]!, cells[2]!, ratios[1]!]);
    say(rows.at(-1)!.join(" | "));
  }
  const head = ["p50 / p99 in ms", "small", "large, median", "ratio", "large, biggest", "ratio"];
  return `## Latencies\n\n${table(head, rows)}\n`;
}

/** What a log takes on the disk, by table and index. */
export async function sizeTable(databaseUrl: string, logs: number): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ name: string; bytes: string }>(
    `select relname as name, pg_relation_size(oid) + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0) as bytes
     from pg_class where relkind in ('r', 'i') and relname ~ '^(log|trace)' order by 2 desc`,
  );
  await client.end();
  const sizes = rows.map(({ name, bytes }) => [name, Math.round(Number(bytes) / logs)] as [string, number]);
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  return `## Bytes of a log\n\n${table(["table or index", "bytes"], [...sizes, ["all", total]])}\n`;
}

export async function statementTable(databaseUrl: string, target: Omit<Target, "url">): Promise<string> {
  const counts = await countStatements(databaseUrl, target);
  const rows = counts.map(({ name, statements }) => [name, statements]);
  return `## Statements of an operation\n\n${table(["operation", "statements"], rows)}\n`;
}

export function gatewayTable(found: { name: string; counts: number[]; rows: Throughput[][] }[]): string {
  const median = (values: number[]) => percentile(values, 50);
  const rows = found.flatMap(({ name, counts, rows: all }) => {
    const rates = all.map((some) => median(some.map(({ perSecond }) => perSecond)));
    return counts.map((count, at) => {
      const of = (key: keyof Throughput) => median(all[at]!.map((figures) => figures[key] ?? Number.NaN));
      const figures = [rates[at]!.toFixed(0), (rates[at]! / rates[0]!).toFixed(2), of("p50Ms"), of("p99Ms")];
      return [name, count, ...figures, of("gatewayMs").toFixed(2), of("databaseMs").toFixed(2)];
    });
  });
  const head = [
    ...["load", "gateways", "requests/s", "ratio", "p50 ms", "p99 ms"],
    ...["ms of processor a request, gateways", "database"],
  ];
  return `## One gateway and three\n\n${table(head, rows)}\n`;
}
