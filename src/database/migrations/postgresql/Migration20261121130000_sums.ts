import { Migration } from "@mikro-orm/migrations";

export class Migration20261121130000_sums extends Migration {
  override name = "Migration20261121130000_sums";

  override up(): void | Promise<void> {
    this.addSql(`drop index "logs_by_time";`);
    this.addSql(
      `create index "logs_summed" on "logs" ("workspace_id", "start_time", "id") include ("prompt_slug", "version", "model", "user_id", "organization_id", "latency_ms", "input_tokens", "output_tokens", "cost", "cost_source") where coalesce(octet_length("prompt_slug"), 0) + coalesce(octet_length("version"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("organization_id"), 0) <= 2000;`,
    );
    this.addSql(
      `create index "logs_not_summed" on "logs" ("workspace_id", "start_time", "id") where coalesce(octet_length("prompt_slug"), 0) + coalesce(octet_length("version"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("organization_id"), 0) > 2000;`,
    );
    this.addSql(`create index "logs_by_time" on "logs" ("workspace_id", "start_time", "id");`);
    // An index is read without the table only where the table was vacuumed: else that is after every fifth of all logs.
    this.addSql(`alter table "logs" set (autovacuum_vacuum_insert_scale_factor = 0.02);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "logs_summed";`);
    this.addSql(`drop index "logs_not_summed";`);
    this.addSql(`drop index "logs_by_time";`);
    this.addSql(
      `create index "logs_by_time" on "logs" ("workspace_id", "start_time", "id") include ("latency_ms", "input_tokens", "output_tokens", "cost", "cost_source");`,
    );
    this.addSql(`alter table "logs" reset (autovacuum_vacuum_insert_scale_factor);`);
  }
}
