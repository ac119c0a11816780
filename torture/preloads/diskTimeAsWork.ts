import Database from "better-sqlite3";

// For a control that must fail: what the disk takes is taken before the commit, where it counts as work of the requests.
const COMMIT_MS = Number(process.env.COMMIT_MS);

const { exec } = Database.prototype;
const nobody = new Int32Array(new SharedArrayBuffer(4));
Database.prototype.exec = function (this: Database.Database, statement: string) {
  if (statement.startsWith("begin")) Atomics.wait(nobody, 0, 0, COMMIT_MS);
  return exec.call(this, statement);
};
