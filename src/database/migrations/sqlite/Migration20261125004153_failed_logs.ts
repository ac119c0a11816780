import { Migration } from "@mikro-orm/migrations";
import { logStatistics } from "./Migration20261123020000_narrow_first.ts";

const columns =
  "`workspace_id`, `start_time`, `id`, `prompt_slug`, `version`, `tag`, `type`, `model`, `user_id`, `organization_id`, `latency_ms`, `input_tokens`, `output_tokens`, `cost`, `cost_source`, `search_id`, `cache_read_tokens`, `cache_write_tokens`, `reasoning_tokens`";

/** Has the index for sums tell which calls failed. */
export class Migration20261125004153_failed_logs extends Migration {
  override name = "Migration20261125004153_failed_logs";

  override up(): void | Promise<void> {
    this.index(`${columns}, \`status\``);
  }

  override down(): void | Promise<void> {
    this.index(columns);
  }

  private index(indexed: string): void {
    this.addSql("drop index `logs_by_time`;");
    this.addSql(`create index \`logs_by_time\` on \`logs\` (${indexed});`);
    const [table, index, figures] = logStatistics.find(([, name]) => name === "logs_by_time")!;
    this.addSql(
      `insert into sqlite_stat1 (tbl, idx, stat) values ('${table}', '${index}', '1000000 ${figures}');`,
    );
    this.addSql("analyze sqlite_schema;"); // reads it
  }
}
