import { copyFile } from "node:fs/promises";
import BetterSqlite3 from "better-sqlite3";
import { openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";
import { getWorkspaceId } from "../src/workspaces/resolvers.ts";
import { createGenerator } from "./scale/generator.ts";

const AT_ONCE = 2_000;
const SEED = 7;
export const STEP_MS = 3_000;
/** So many characters of input and of output are kept in the copies, so that ten million fit on a disk. */
export const TEXT_LENGTH = 60;

/** Adds so many logs with their traces to a database that `prepare` made, a file or a URL, as the program itself stores them. */
export async function addLogs(at: string, count: number): Promise<void> {
  const database = await openDatabase(at.includes(":") ? at : `sqlite:${at}`, entities);
  const workspace = await getWorkspaceId(database, "default");
  const generate = createGenerator(SEED);
  const began = Date.now() - count * STEP_MS;
  const store = (n: number) => {
    const time = new Date(began + n * STEP_MS);
    const { user, organization, slug, metadata: text, latencyMs, body: _, model, ...log } = generate(n);
    const [traceId, id] = [0, 1].map((kind) => idOf(time.getTime(), kind, n)) as [string, string];
    const common = { workspace, metadata: JSON.parse(text), startTime: time, endTime: null, createdAt: time };
    const party = (name: string | null) => name && { id: name, name };
    const trace = { id: traceId, name: slug, organization: party(organization), user: party(user) };
    const called = { type: "generation", prompt: null, promptSlug: slug, tag: null, latencyMs };
    const who = { provider: model.provider, model: model.model, userId: user, organizationId: organization };
    const rest = { idealOutput: null, variables: null, costSource: "COMPUTED" };
    return database.commit([
      ["Trace", { ...common, ...trace }],
      ["Log", { ...common, ...log, ...called, ...who, ...rest, id, trace: traceId }],
    ] as Parameters<typeof database.commit>[0]);
  };
  try {
    for (let from = 0; from < count; from += AT_ONCE) {
      const length = Math.min(AT_ONCE, count - from);
      await Promise.all(Array.from({ length }, (_, at) => store(from + at)));
    }
  } finally {
    await database.close();
  }
}

/** A UUID of version 7. */
function idOf(timeMs: number, kind: number, n: number): string {
  const ms = timeMs.toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${kind}00-8000-${n.toString(16).padStart(12, "0")}`;
}

/** Makes a database with so many times the logs of another, each with ids, a time and an entry of the index of its own. */
export async function multiplyLogs(from: string, to: string, times: number, say: (words: string) => void) {
  await copyFile(from, to);
  const database = new BetterSqlite3(to);
  try {
    for (const pragma of ["journal_mode = off", "synchronous = off", "cache_size = -2000000"])
      database.pragma(pragma);
    const made = database
      .prepare<[], { type: string; name: string; sql: string }>(
        "select type, name, sql from sqlite_master where type in ('index', 'trigger') and tbl_name in ('logs', 'traces') and sql is not null order by type",
      )
      .all();
    const statistics = database.prepare("select tbl, idx, stat from sqlite_stat1").raw().all();
    for (const { type, name } of made) database.exec(`drop ${type} "${name}"`);
    copyTables(database, times, say);
    for (const { name, sql } of made) {
      database.exec(sql);
      say(`made again: ${name}`);
    }
    keepStatistics(database, statistics);
    mergeWords(database);
    database.pragma("journal_mode = wal");
  } finally {
    database.close();
  }
}

/**
 * SQLite forgets the statistics of an index that is dropped, and without those of a migration it looks for the traces of a batch
 * of spans among all of their workspace: 26 of a million take 140 ms.
 */
function keepStatistics(database: BetterSqlite3.Database, statistics: unknown[]): void {
  database.exec("delete from sqlite_stat1");
  const keep = database.prepare("insert into sqlite_stat1 (tbl, idx, stat) values (?, ?, ?)");
  for (const row of statistics) keep.run(row);
  database.exec("analyze sqlite_schema"); // reads them
}

/**
 * Brings the index of words to where it is most of the time: what was added at once leaves merges that each of the next
 * hundred thousand logs would have to do a part of.
 */
function mergeWords(database: BetterSqlite3.Database): void {
  const changes = database.prepare("select total_changes()").pluck();
  const merge = database.prepare("insert into log_texts(log_texts, rank) values('merge', 20000)");
  // As documented at https://sqlite.org/fts5.html#the_merge_command
  for (let before = -2; (changes.get() as number) - before >= 2; ) {
    before = changes.get() as number;
    merge.run();
  }
}

function copyTables(database: BetterSqlite3.Database, times: number, say: (words: string) => void): void {
  database.exec("pragma foreign_keys = off; create temp table trace as select * from traces order by id");
  database.exec(
    "create temp table log as select * from logs order by id; delete from traces; delete from logs",
  );
  database.exec("insert into log_texts(log_texts) values('delete-all')");
  const count = database.prepare("select count(*) from temp.log").pluck().get() as number;
  const began = Date.now() - count * times * STEP_MS;
  const n = "(@lap * @count + part.rowid)";
  const time = `(@began + ${n} * ${STEP_MS})`;
  const id = (kind: number) =>
    `printf('%08x-%04x-7${kind}00-8000-%012x', ${time} >> 16, ${time} & 65535, ${n})`;
  const short = (column: string) => `json_quote(substr(json_extract(${column}, '$'), 1, ${TEXT_LENGTH}))`;
  const changed: Record<string, string> = {
    ...{ start_time: time, created_at: time, search_id: n, trace_id: id(0) },
    ...{ input: short("input"), output: short("output") },
  };
  const columnsOf = (table: string) =>
    (database.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  const statements = ["trace", "log"].map((part, kind) => {
    const columns = columnsOf(`${part}s`);
    const values = columns.map((name) => (name === "id" ? id(kind) : (changed[name] ?? `"${name}"`)));
    return `insert into ${part}s (${columns.map((name) => `"${name}"`)}) select ${values} from temp.${part} as part order by part.rowid`;
  });
  const words = `insert into log_texts (rowid, workspace, input, output) select ${n}, replace(workspace_id, '-', ''), json_extract(${short("input")}, '$'), json_extract(${short("output")}, '$') from temp.log as part`;
  const prepared = [...statements, words].map((statement) => database.prepare(statement));
  const copy = database.transaction((laps: number[]) => {
    for (const lap of laps) for (const statement of prepared) statement.run({ lap, count, began });
  });
  for (let lap = 0; lap < times; lap += 50) {
    copy(Array.from({ length: Math.min(50, times - lap) }, (_, at) => lap + at));
    say(`${((lap + 50) * count).toLocaleString("en")} logs`);
  }
}
