import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { addLogs } from "../support/logs.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const USAGE = `query($by: UsageGroup) {
  usage(from: "2026-01-01", to: "2026-02-01", groupBy: $by, timeZone: "Europe/Berlin", slug: "often", filter: { organizationId: ["o-0", "o-1"], not: { userId: "u-1", status: ERROR } }) { nodes {
    key logs cost p50LatencyMs
  } }
}`;

await addLogs(server, 12_000, (at) => ({
  startTime: new Date(Date.UTC(2026, 0, 1) + at * 200_000),
  promptSlug: at % 5 ? "often" : "seldom",
  version: at % 3 ? "1" : null,
  model: at % 2 ? "gpt-4o" : null,
  userId: at % 1_000 ? `u-${at % 7}` : "x".repeat(3_000),
  organizationId: `o-${at % 3}`,
  inputTokens: at,
  latencyMs: at % 5_000,
  cost: at / 1_000,
  costSource: "REPORTED",
}));

const COUNTS = `query($by: LogGroup!) {
  logCounts(from: "2026-01-01", to: "2026-02-01", groupBy: $by, filter: {
    slug: "often", version: "1", model: "gpt-4o", userId: "u-1", status: OK, minCost: 1, minLatencyMs: 1
  }) { nodes { key logs } }
}`;
const groups = ["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION"];
const everyGroup: [title: string, query: string, by: string | null][] = [
  ...["DAY", ...groups, null].map((by) => [`usage by ${by}`, USAGE, by] as [string, string, string | null]),
  ...[...groups, "STATUS"].map((by) => [`logCounts by ${by}`, COUNTS, by] as [string, string, string]),
];

/** The statements by which a report reads logs, each once. */
async function readsOf(query: string, by: string | null) {
  const stop = await captureStatements(server);
  expect(await server.run(query, { by })).not.toHaveProperty("error");
  const reads = new Map(
    stop()
      .filter(({ sql }) => sql.includes('from "logs"'))
      .map((statement) => [statement.sql, statement]),
  );
  expect(reads.size).toBeGreaterThanOrEqual(2);
  return [...reads.values()];
}

test.skipIf(isOnPostgresql).each(everyGroup)(
  "on SQLite: %s reads the index by time and no log itself",
  async (_, query, by) => {
    const reads = await readsOf(query, by);
    const driver = await (
      server.database.orm.em.getConnection("read") as unknown as Handle
    ).getNativeClient();
    for (const { sql } of reads) {
      const bound = Array(sql.split("?").length - 1).fill(0);
      const plan = driver.prepare(`explain query plan ${sql}`).all(bound) as { detail: string }[];
      expect(plan[0]!.detail).toMatch(
        /USING COVERING INDEX logs_by_time \(workspace_id=\? AND (?:\(start_time,id\)|start_time=\? AND id)/,
      );
    }
  },
);

test.skipIf(!isOnPostgresql).each(everyGroup)(
  "on PostgreSQL: %s reads indexes, and logs themselves only where ids are too long for them",
  async (_, query, by) => {
    const reads = await readsOf(query, by);
    const client = new pg.Client({ connectionString: server.databaseUrl });
    await client.connect();
    try {
      await client.query("vacuum analyze logs");
      await client.query("set enable_bitmapscan = off");
      await client.query("set enable_seqscan = off"); // there are few logs here
      for (const { sql, values } of reads) {
        const { rows } = await client.query(`explain ${sql}`, values);
        const scans = rows.map((row) => row["QUERY PLAN"] as string).filter((line) => / on logs/.test(line));
        expect(scans.length).toBeGreaterThan(0);
        for (const scan of scans)
          expect(scan).toMatch(
            /Index Only Scan.* using logs_(summed|by_time) |Index Scan.* using logs_not_summed /,
          );
      }
    } finally {
      await client.end();
    }
  },
);

test.skipIf(!isOnPostgresql).each([
  ["usage", USAGE, "MODEL"],
  ["logCounts", COUNTS, "MODEL"],
])(
  "on PostgreSQL: no more than one piece of %s reads all logs of a time that thousands have",
  async (_, query, by) => {
    await using own = await startServer();
    await addLogs(own, 12_000, () => ({ startTime: new Date("2026-01-15T12:00:00Z"), promptSlug: "often" }));
    const client = new pg.Client({ connectionString: own.databaseUrl });
    await client.connect();
    try {
      await client.query("vacuum analyze logs");
      const stop = await captureStatements(own);
      expect(await own.run(query, { by })).not.toHaveProperty("error");
      const reads = stop().filter(({ sql }) => sql.includes('from "logs"'));
      expect(reads.length).toBeGreaterThan(20);
      const pages: number[] = [];
      for (const { sql, values } of reads) {
        const { rows } = await client.query(`explain (analyze, buffers, format json) ${sql}`, values);
        const { Plan: plan } = rows[0]["QUERY PLAN"][0];
        pages.push(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
      }
      // The last piece goes on behind that time.
      expect(pages.filter((count) => count > 60).length).toBeLessThanOrEqual(1);
    } finally {
      await client.end();
    }
  },
);

interface Handle {
  getNativeClient(): Promise<{ prepare(statement: string): { all(bound: unknown[]): unknown[] } }>;
}
