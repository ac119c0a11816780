import { Migration20261121120000_initial } from "./Migration20261121120000_initial.ts";
import { Migration20261121140000_idempotency } from "./Migration20261121140000_idempotency.ts";

/** The migrations of PostgreSQL in their order; `npm run migration -- NAME` writes the next one, which is then added here. */
export const postgresqlMigrations = [
  { name: "Migration20261121120000_initial", class: Migration20261121120000_initial },
  { name: "Migration20261121140000_idempotency", class: Migration20261121140000_idempotency },
];
