import { Migration } from "@mikro-orm/migrations";

const columns =
  '"prompt_slug", "version", "model", "user_id", "organization_id", "latency_ms", "input_tokens", "output_tokens", "cost", "cost_source", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "status"';

/** Has the index for sums tell the types of logs: `logCounts`, which leaves one out, would read each log for it. */
export class Migration20261130224500_types_in_sums extends Migration {
  override name = "Migration20261130224500_types_in_sums";

  override up(): void | Promise<void> {
    this.index(`${columns}, "type"`);
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
