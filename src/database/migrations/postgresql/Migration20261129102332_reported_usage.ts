import { Migration } from "@mikro-orm/migrations";

/** The usage that was reported of steps around calls, which SQLite otherwise reaches by reading their status messages. */
export class Migration20261129102332_reported_usage extends Migration {
  override name = "Migration20261129102332_reported_usage";

  override up(): void | Promise<void> {
    this.addSql(
      `create index "logs_with_aggregate_usage" on "logs" ("trace_id", "workspace_id", "id", "aggregate_usage") where aggregate_usage is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "logs_with_aggregate_usage";`);
  }
}
