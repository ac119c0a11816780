import Database from "better-sqlite3";
import pg from "pg";

// For a control that must fail: what is acknowledged is committed a little later.
const LATER_MS = 100;

const { exec, prepare } = Database.prototype;
const late = new WeakMap<Database.Database, NodeJS.Timeout>();
/** Those in the midst of a transaction: half of one must not be committed, or a kill leaves faults of another kind. */
const busy = new WeakSet<Database.Database>();
const commitLater = (database: Database.Database) => {
  const commit = () => {
    late.delete(database);
    if (busy.has(database)) commitLater(database);
    else if (database.inTransaction) exec.call(database, "commit");
  };
  if (!late.has(database)) late.set(database, setTimeout(commit, LATER_MS));
};
Database.prototype.exec = function (this: Database.Database, statement: string) {
  if (statement.startsWith("begin")) busy.add(this);
  else if (/^(?:commit|rollback$)/.test(statement)) busy.delete(this);
  if (statement.startsWith("begin") && this.inTransaction) return this;
  if (statement !== "commit") return exec.call(this, statement);
  commitLater(this);
  return this;
};
Database.prototype.prepare = function (this: Database.Database, statement: string) {
  const prepared = prepare.call(this, statement);
  if (!/^(?:begin|commit|rollback$)/i.test(statement)) return prepared;
  const run = () => {
    this.exec(statement.toLowerCase());
    return { changes: 0, lastInsertRowid: 0 };
  };
  return Object.assign(prepared, { run });
} as typeof prepare;

type Query = (this: pg.Client, statement: unknown, ...rest: unknown[]) => unknown;
const query = pg.Client.prototype.query as Query;
(pg.Client.prototype as { query: Query }).query = function (statement, ...rest) {
  if (statement !== "commit" && (statement as { text?: string })?.text !== "commit")
    return query.call(this, statement, ...rest);
  void query.call(this, `select pg_sleep(${LATER_MS / 1_000})`);
  void query.call(this, "commit");
  return Promise.resolve({ command: "COMMIT", rowCount: null, rows: [], fields: [] });
};
