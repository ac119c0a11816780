import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Finding } from "./claim.ts";
import { type Loaded, median, type Server } from "./processes.ts";

export type Figures = Omit<Loaded, "failed"> & { peakMb: number | null };
type Base = Exclude<Server, "gabbro">;

/** All that one run measured; no figure of an earlier one is ever replaced. */
export interface Run {
  commit: string;
  day: string;
  machine: string;
  how: string;
  cases: {
    name: string;
    /** The least ratio to each baseline. */
    wanted: Partial<Record<Base, number>>;
    rounds: Partial<Record<Server, Figures[]>>;
  }[];
  claims: ({ name: string; wanted: string } & Finding)[];
}

type Case = Run["cases"][number];

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Adds a run to results.json and makes results.md from all of them. */
export async function keep(run: Run): Promise<void> {
  const file = here("results.json");
  const runs: Run[] = existsSync(file) ? JSON.parse(await readFile(file, "utf8")) : [];
  runs.push(run);
  await writeFile(file, `${JSON.stringify(runs, null, 1)}\n`);
  await writeFile(here("results.md"), pageOf(runs));
}

/** What of a run is below what is wanted. */
export function missed({ cases, claims }: Run): string[] {
  const below = cases.flatMap((measured) =>
    basesOf(measured)
      .filter((base) => ratioTo(measured, base) < (measured.wanted[base] ?? 0))
      .map((base) => `${measured.name}: ${ratioTo(measured, base).toFixed(2)} of ${base}`),
  );
  return [
    ...below,
    ...claims.filter(({ isMet }) => !isMet).map(({ name, measured }) => `${name}: ${measured}`),
  ];
}

/** The two tables of a run, in Markdown. */
export function tableOf({ cases, claims }: Run): string {
  const head = ["work", "server", "requests/s", "p50 ms", "p99 ms", "peak MB", "Gabbro's ratio", "wanted"];
  const rows = cases.flatMap((measured) =>
    ([...basesOf(measured), "gabbro"] as Server[]).map((server) => {
      const of = (name: keyof Figures) => median(measured.rounds[server]!.map((each) => each[name] ?? 0));
      const ratio = server === "gabbro" ? "" : ratioTo(measured, server).toFixed(2);
      const wanted = server === "gabbro" ? "" : (measured.wanted[server] ?? "");
      const figures = [Math.round(of("perSecond")), of("p50Ms"), of("p99Ms"), of("peakMb")];
      return [measured.name, server, ...figures, ratio, wanted];
    }),
  );
  const claimed = claims.map(({ name, measured, wanted }) => [name, measured, wanted]);
  return [
    ...(rows.length > 0 ? table(head, rows) : []),
    "",
    ...(claimed.length > 0 ? table(["claim", "measured", "wanted"], claimed) : []),
  ].join("\n");
}

function pageOf(runs: Run[]): string {
  const last = runs.at(-1)!;
  const names = last.cases.map(({ name }) => name);
  const ratios = last.cases.map((measured) => ratioTo(measured, "bare").toFixed(2));
  const others = names.map((name) => [
    name,
    ...runs.map(({ cases }) => {
      const measured = cases.find((each) => each.name === name);
      return measured
        ? basesOf(measured)
            .map((base) => ratioTo(measured, base).toFixed(2))
            .join(", ")
        : "";
    }),
  ]);
  return `# Measured

Made by \`npm run bench\` from \`bench/results.json\`; what is to be said about the figures stands in [notes.md](notes.md).
Server and load have a core each, and only the ratios are claims.

## The last run

${last.day}, commit ${last.commit}, ${last.machine}, ${last.how}.

${tableOf(last)}

\`\`\`mermaid
xychart-beta horizontal
  title "Requests a second, as a ratio to a bare server"
  x-axis [${names.map((name) => JSON.stringify(name)).join(", ")}]
  y-axis "ratio" 0 --> ${Math.ceil(Math.max(...ratios.map(Number)))}
  bar [${ratios.join(", ")}]
\`\`\`

## All runs

Ratios to bare, and to plain where there is a second one.

${table(["work", ...runs.map(({ day, commit }) => `${day}, ${commit}`)], others).join("\n")}
`;
}

function basesOf({ rounds }: Case): Base[] {
  return (Object.keys(rounds) as Server[]).filter((server) => server !== "gabbro");
}

function ratioTo({ rounds }: Case, base: Base): number {
  const rate = (server: Server) => median(rounds[server]!.map(({ perSecond }) => perSecond));
  return rate("gabbro") / rate(base);
}

function table(head: string[], rows: (string | number)[][]): string[] {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}
