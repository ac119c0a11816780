// Loaded into a release by record.ts: writes each statement by which it changes a schema of PostgreSQL to a file, as one line of JSON.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";

const { Client } = createRequire(`${process.cwd()}/`)("pg");
const { query } = Client.prototype;
Client.prototype.query = function (statement, ...rest) {
  const text = typeof statement === "string" ? statement : (statement?.text ?? "");
  if (/^\s*(create|alter|drop|comment|do)\b/i.test(text))
    appendFileSync(process.env.DDL_FILE, `${JSON.stringify(text)}\n`);
  return query.call(this, statement, ...rest);
};
