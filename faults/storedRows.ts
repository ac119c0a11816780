import { hash } from "node:crypto";
import type { Database } from "../src/database/open.ts";
import { tablesOf } from "../src/database/tables.ts";

/**
 * When a token was last used and how many equal requests were rejected, which are stored after the answer, and what
 * nobody but the index asks for.
 */
const IN_PASSING = new Set(["last_used_at", "count", "search_id"]);

export interface StoredRow {
  table: string;
  id: string;
  workspaceId: string;
  /** All of the row. */
  text: string;
}

/** Every row of every table as a text, by table and id. */
export async function storedRows({ orm }: Database): Promise<Map<string, StoredRow>> {
  const rows = new Map<string, StoredRow>();
  for (const { name: table } of tablesOf(orm.getMetadata())) {
    const all = await orm.em.fork().execute<Record<string, unknown>[]>(`select * from "${table}"`);
    for (const row of all) {
      const kept = Object.entries(row).filter(([column]) => !IN_PASSING.has(column));
      const id = String(row.id);
      const workspaceId = String(row.workspace_id ?? row.id);
      rows.set(`${table} ${id}`, { table, id, workspaceId, text: JSON.stringify(Object.fromEntries(kept)) });
    }
  }
  return rows;
}

/** The sum of all that a workspace has, table by table. */
export async function sumsOf(database: Database, workspaceId: string): Promise<Record<string, string>> {
  const own = [...(await storedRows(database)).values()].filter((row) => row.workspaceId === workspaceId);
  const tables = Map.groupBy(own, ({ table }) => table);
  const sums = [...tables].map(([table, rows]) => {
    const texts = rows.map(({ text }) => text).toSorted();
    return [table, `${rows.length} rows ${hash("sha256", texts.join("\n"))}`];
  });
  return Object.fromEntries(sums);
}
