import type { Configuration, Dictionary } from "@mikro-orm/core";
import type { SqlEntityManager } from "@mikro-orm/sql";
import { AbstractSqlDriver, SqliteConnection, SqlitePlatform } from "@mikro-orm/sqlite";
import type { Database } from "better-sqlite3";
import type { Dialect } from "kysely";
import { bindTexts } from "../bindTexts.ts";
import { guardedDialect } from "../guardedDialect.ts";

export const placeholder = () => "?";

class Connection extends SqliteConnection {
  override createKyselyDialect(options: Dictionary): Dialect {
    const isOpen = async () => {
      const handle = await this.getNativeClient();
      return handle.inTransaction;
    };
    return guardedDialect(super.createKyselyDialect(options), { isOpen });
  }

  override execute: SqliteConnection["execute"] = (query, values = [], method, transaction, logging) => {
    if (!Array.isArray(values)) return super.execute(query, values, method, transaction, logging);
    const { parameters, client } = bindTexts(values, transaction ?? this.getClient(), placeholder);
    return super.execute(query, parameters, method, client, logging);
  };
}

/** The native handle of a connection, for what neither MikroORM nor Kysely supports. */
export const handleOf = (em: SqlEntityManager, type: "read" | "write"): Promise<Database> =>
  (em.getConnection(type) as Connection).getNativeClient();

/** MikroORM's driver for SQLite, with long texts bound. */
export class Driver extends AbstractSqlDriver<Connection> {
  constructor(config: Configuration) {
    super(config, new SqlitePlatform(), Connection, ["kysely", "better-sqlite3"]);
  }
}
