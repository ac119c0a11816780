import Database from "better-sqlite3";
import pg from "pg";

// For a control that must fail: what is read from one table is read from all workspaces.
const table = process.env.SPOILT_TABLE;
const ofTable = new RegExp(`\\bfrom [\`"]${table}[\`"]`);
/** A row is there only when its dataset is, which is looked for by its id, and would hide that the row is another's. */
const DATASET_BY_ID = /\bfrom [`"]datasets[`"].*\bwhere .*[`"]id[`"] = /;
const isSpoilt = (statement: string) =>
  ofTable.test(statement) || (table === "dataset_rows" && DATASET_BY_ID.test(statement));
const CONDITION = /((?:[`"]\w+[`"]\.)?[`"]workspace_id[`"]) = (\?|\$\d+|'[^']*')/;
const spoil = (statement: string) =>
  isSpoilt(statement) ? statement.replace(CONDITION, "($1 = $2 or 1 = 1)") : statement;

const { prepare } = Database.prototype;
Database.prototype.prepare = function (this: Database.Database, statement: string) {
  return prepare.call(this, spoil(statement));
} as typeof prepare;

type Query = (this: pg.Client, statement: unknown, ...rest: unknown[]) => unknown;
const query = pg.Client.prototype.query as Query;
(pg.Client.prototype as { query: Query }).query = function (statement, ...rest) {
  const { text } = statement as { text?: unknown };
  if (typeof statement === "string") return query.call(this, spoil(statement), ...rest);
  if (typeof text === "string") Object.assign(statement as object, { text: spoil(text) });
  return query.call(this, statement, ...rest);
};
