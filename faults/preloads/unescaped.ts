import { PostgreSqlPlatform } from "@mikro-orm/postgresql";
import { SqlitePlatform } from "@mikro-orm/sql";

// For a control that must fail: texts are written into statements as they are.
for (const { prototype } of [PostgreSqlPlatform, SqlitePlatform]) {
  const { escape: escaped } = prototype;
  prototype.escape = function (value) {
    return typeof value === "string" ? `'${value}'` : escaped.call(this, value);
  };
}
