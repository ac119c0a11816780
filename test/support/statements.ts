import pg from "pg";
import { vi } from "vitest";
import { isOnPostgresql, type Server } from "./server.ts";

export interface Statement {
  sql: string;
  values: unknown[];
}

interface Handle {
  prepare: (sql: string) => unknown;
}

/** Keeps every statement that the connections of the database are given from now on, until `stop` gives them. */
export async function captureStatements({ database }: Server) {
  const statements: Statement[] = [];
  if (isOnPostgresql) {
    const query = vi.spyOn(pg.Client.prototype, "query");
    return (): Statement[] => {
      const taken = query.mock.calls.map(([given, values]) => {
        const { text, values: own } = given as unknown as { text?: string; values?: unknown[] };
        return { sql: text ?? String(given), values: own ?? (Array.isArray(values) ? values : []) };
      });
      query.mockRestore();
      return taken.filter(({ sql }) => sql !== "select 1"); // by which it is found out whether the server is there
    };
  }
  const restore = await Promise.all(
    (["read", "write"] as const).map(async (type) => {
      const connection = database.orm.em.getConnection(type) as unknown as {
        getNativeClient(): Promise<Handle>;
      };
      const handle = await connection.getNativeClient();
      const { prepare } = handle; // that of Gabbro, which keeps statements
      handle.prepare = (sql) => {
        statements.push({ sql, values: [] });
        return prepare.call(handle, sql);
      };
      return () => {
        handle.prepare = prepare;
      };
    }),
  );
  const findIds = vi.spyOn(database.search, "findIds"); // by a process of its own
  return (): Statement[] => {
    for (const undo of restore) undo();
    const searches = findIds.mock.calls.map(([, query]) => ({ sql: query.compile().sql, values: [] }));
    findIds.mockRestore();
    return [...statements, ...searches];
  };
}
