import Database from "better-sqlite3";
import pg from "pg";
import { isOnPostgresql, type Server } from "./server.ts";

/** Keeps others from writing until it is released. */
export async function lockWrites({ databaseUrl }: Server): Promise<() => Promise<void>> {
  if (!isOnPostgresql) {
    const other = new Database(databaseUrl.slice("sqlite:".length));
    other.exec("begin immediate");
    return async () => void other.close();
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("begin; lock table traces, logs, prompts, audit_entries in exclusive mode");
  return () => client.end();
}
