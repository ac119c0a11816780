import { Migration20261121000000_initial } from "./Migration20261121000000_initial.ts";

/** The migrations of SQLite in their order; `npm run migration -- NAME` writes the next one, which is then added here. */
export const sqliteMigrations = [
  { name: "Migration20261121000000_initial", class: Migration20261121000000_initial },
];
