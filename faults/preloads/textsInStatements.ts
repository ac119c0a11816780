import Database from "better-sqlite3";
import pg from "pg";

// For a control that must fail: a text with an apostrophe ends a statement, as if statements were put together from texts.
const refuse = (parameters: unknown[]) => {
  if (parameters.flat().some((value) => typeof value === "string" && value.includes("'")))
    throw new Error('syntax error near "\'"');
};

const { prepare } = Database.prototype;
Database.prototype.prepare = function (this: Database.Database, text: string) {
  const statement = prepare.call(this, text);
  for (const method of ["run", "get", "all", "iterate"] as const) {
    const original = statement[method] as (...parameters: unknown[]) => unknown;
    const spoilt = (...parameters: unknown[]) => {
      refuse(parameters);
      return original.apply(statement, parameters);
    };
    Object.assign(statement, { [method]: spoilt });
  }
  return statement;
} as typeof prepare;

type Query = (this: pg.Client, statement: unknown, ...rest: unknown[]) => unknown;
const query = pg.Client.prototype.query as Query;
(pg.Client.prototype as { query: Query }).query = function (statement, ...rest) {
  const { values = [] } = (statement ?? {}) as { values?: unknown[] };
  refuse([...values, ...rest.filter(Array.isArray)]);
  return query.call(this, statement, ...rest);
};
