import Database from "better-sqlite3";

// For a control that must fail: once the gateway has checked its connections, they write with synchronous=NORMAL.
const { exec, prepare } = Database.prototype;
const spoilt = new WeakSet<Database.Database>();
const spoil = (database: Database.Database, statement: string) => {
  if (!/^begin/i.test(statement) || database.inTransaction || spoilt.has(database)) return;
  spoilt.add(database);
  exec.call(database, "pragma synchronous = normal");
};
Database.prototype.exec = function (this: Database.Database, statement: string) {
  spoil(this, statement);
  return exec.call(this, statement);
};
Database.prototype.prepare = function (this: Database.Database, statement: string) {
  spoil(this, statement);
  return prepare.call(this, statement);
} as typeof prepare;
