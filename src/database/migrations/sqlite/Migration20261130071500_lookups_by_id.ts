import { Migration } from "@mikro-orm/migrations";

/** Of each index: how many rows it has, how many share its first column, its first two, and so on. */
const statistics = [
  ["datasets", "sqlite_autoindex_datasets_1", "1000000 1"],
  ["datasets", "datasets_workspace_id_slug_unique", "1000000 10000 1"],
  ["datasets", "datasets_deleted", "1000 10"],
  ["prompts", "sqlite_autoindex_prompts_1", "1000000 1"],
  ["prompts", "prompts_workspace_id_slug_unique", "1000000 10000 1"],
  ["prompts", "prompts_workspace_id_feature_slug_slug_index", "1000000 10000 100 1"],
  ["prompts", "prompts_deleted", "1000 10"],
] as const;

/**
 * Has SQLite look for datasets and prompts by their ids, and for deleted ones by the index of those. Without figures it takes a workspace
 * for ten rows, and for four ids or more looks at all that the workspace has: 200,000 datasets took 0.9 s for eight ids.
 */
export class Migration20261130071500_lookups_by_id extends Migration {
  override name = "Migration20261130071500_lookups_by_id";

  override up(): void | Promise<void> {
    for (const [table, index, figures] of statistics)
      this.addSql(`insert into sqlite_stat1 (tbl, idx, stat) values ('${table}', '${index}', '${figures}');`);
    this.addSql("analyze sqlite_schema;");
  }

  override down(): void | Promise<void> {
    this.addSql("delete from sqlite_stat1 where tbl in ('datasets', 'prompts');");
    this.addSql("analyze sqlite_schema;");
  }
}
