import Database from "better-sqlite3";
import pg from "pg";

// For a control that must fail: what is told to be committed is committed a little later.
const LATER_MS = 30;

const { exec } = Database.prototype;
const late = new WeakMap<Database.Database, NodeJS.Timeout>();
Database.prototype.exec = function (this: Database.Database, statement: string) {
  if (statement === "begin immediate" && late.has(this)) return this;
  if (statement !== "commit") return exec.call(this, statement);
  const commit = () => {
    late.delete(this);
    if (this.inTransaction) exec.call(this, "commit");
  };
  if (!late.has(this)) late.set(this, setTimeout(commit, LATER_MS));
  return this;
};

type Query = (this: pg.Client, statement: unknown, ...rest: unknown[]) => unknown;
const query = pg.Client.prototype.query as Query;
(pg.Client.prototype as { query: Query }).query = function (statement, ...rest) {
  if (statement !== "commit" && (statement as { text?: string })?.text !== "commit")
    return query.call(this, statement, ...rest);
  void query.call(this, `select pg_sleep(${LATER_MS / 1_000})`);
  void query.call(this, "commit");
  return Promise.resolve({ command: "COMMIT", rowCount: null, rows: [], fields: [] });
};
