import { Migration } from "@mikro-orm/migrations";

const columns =
  '"prompt_slug", "version", "model", "user_id", "organization_id", "latency_ms", "input_tokens", "output_tokens", "cost", "cost_source", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"';

/** Has the index for sums tell which calls failed. */
export class Migration20261125004153_failed_logs extends Migration {
  override name = "Migration20261125004153_failed_logs";

  override up(): void | Promise<void> {
    this.index(`${columns}, "status"`);
  }

  override down(): void | Promise<void> {
    this.index(columns);
  }

  private index(included: string): void {
    this.addSql(`drop index "logs_summed";`);
    this.addSql(
      `create index "logs_summed" on "logs" ("workspace_id", "start_time", "id") include (${included}) where coalesce(octet_length("prompt_slug"), 0) + coalesce(octet_length("version"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("organization_id"), 0) <= 2000;`,
    );
  }
}
