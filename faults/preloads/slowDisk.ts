import Database from "better-sqlite3";
import pg from "pg";

// Every commit takes as long as on a disk that turns, or one behind a network.
const COMMIT_MS = Number(process.env.COMMIT_MS);

const { exec } = Database.prototype;
const nobody = new Int32Array(new SharedArrayBuffer(4));
Database.prototype.exec = function (this: Database.Database, statement: string) {
  if (statement === "commit") Atomics.wait(nobody, 0, 0, COMMIT_MS); // as SQLite does, which holds the event loop
  return exec.call(this, statement);
};

type Query = (this: pg.Client, statement: unknown, ...rest: unknown[]) => unknown;
const query = pg.Client.prototype.query as Query;
(pg.Client.prototype as { query: Query }).query = function (statement, ...rest) {
  const text = typeof statement === "string" ? statement : (statement as { text?: string }).text;
  if (text === "commit") void query.call(this, `select pg_sleep(${COMMIT_MS / 1_000})`);
  return query.call(this, statement, ...rest);
};
