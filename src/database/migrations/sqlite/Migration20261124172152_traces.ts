import { Migration } from "@mikro-orm/migrations";
import { fullTextStatements, logStatistics } from "./Migration20261123020000_narrow_first.ts";

const traceColumns =
  "`id`, `workspace_id`, `start_time`, `end_time`, `created_at`, `name`, `user`, `organization`, `metadata`";
const logColumns =
  "`id`, `workspace_id`, `trace_id`, `type`, `prompt_id`, `start_time`, `end_time`, `latency_ms`, `input_tokens`, `output_tokens`, `cost`, `cost_source`, `created_at`, `search_id`, `version`, `tag`, `provider`, `model`, `prompt_slug`, `user_id`, `organization_id`, `metadata`, `variables`, `ideal_output`, `input`, `output`";

/**
 * Lets traces be trees of steps of several kinds. SQLite changes a check, or a column that must not be null, only by
 * rebuilding the table; the new narrow columns then stand before those of any length.
 */
export class Migration20261124172152_traces extends Migration {
  override name = "Migration20261124172152_traces";

  override up(): void | Promise<void> {
    this.addSql("drop trigger `logs_search_insert`;");
    this.addSql("drop trigger `logs_search_delete`;");
    this.addSql("drop view `log_words`;");
    this.createExperiments();
    this.rebuildTraces();
    this.rebuildLogs();
    for (const statement of fullTextStatements) this.addSql(statement);
    for (const [table, index, figures] of logStatistics)
      this.addSql(
        `insert into sqlite_stat1 (tbl, idx, stat) values ('${table}', '${index}', '1000000 ${figures}');`,
      );
    this.addSql("analyze sqlite_schema;");
  }

  private createExperiments(): void {
    this.addSql(
      "create table `experiments` (`id` text not null primary key, `workspace_id` text not null, `feature_slug` text not null, `name` text not null, `created_at` datetime not null, constraint `experiments_workspace_id_foreign` foreign key (`workspace_id`) references `workspaces` (`id`));",
    );
    this.addSql("create index `experiments_workspace_id_id_index` on `experiments` (`workspace_id`, `id`);");
  }

  private rebuildTraces(): void {
    this.addSql(
      "create table `traces_rebuilt` (`id` text not null primary key, `workspace_id` text not null, `start_time` datetime not null, `end_time` datetime null, `created_at` datetime not null, `root_id` text null, `sample_rate` double null, `external_id` text null, `session_id` text null, `environment` text null, `experiment_id` text null, `feature_slug` text null, `name` text not null, `user` text null, `organization` text null, `metadata` text null, `evaluators` text null, `ideal_output` text null, `input` text null, `output` text null, constraint `traces_workspace_id_foreign` foreign key (`workspace_id`) references `workspaces` (`id`));",
    );
    this.replace("traces", traceColumns);
    this.addSql(
      "create index `traces_workspace_id_start_time_id_index` on `traces` (`workspace_id`, `start_time`, `id`);",
    );
  }

  private rebuildLogs(): void {
    this.addSql(
      "create table `logs_rebuilt` (`id` text not null primary key, `workspace_id` text not null, `trace_id` text not null, `type` text check (`type` in ('generation', 'span', 'function', 'tool', 'retrieval', 'event', 'agent', 'embedding', 'evaluator', 'guardrail', 'internal')) not null, `prompt_id` text null, `start_time` datetime not null, `end_time` datetime null, `latency_ms` bigint null, `input_tokens` integer null, `output_tokens` integer null, `cost` double null, `cost_source` text check (`cost_source` in ('REPORTED', 'COMPUTED', 'UNPRICED', 'NONE')) not null, `created_at` datetime not null, `search_id` integer null, `status` text check (`status` in ('ok', 'error')) null, `cache_read_tokens` integer null, `cache_write_tokens` integer null, `reasoning_tokens` integer null, `time_to_first_token_ms` double null, `external_id` text null, `parent_external_id` text null, `remote_parent_id` text null, `response_id` text null, `version` text null, `tag` text null, `provider` text null, `model` text null, `prompt_slug` text null, `user_id` text null, `organization_id` text null, `name` text null, `status_message` text null, `aggregate_usage` text null, `evaluators` text null, `metadata` text null, `variables` text null, `events` text null, `attributes` text null, `ideal_output` text null, `input` text null, `output` text null, constraint `logs_workspace_id_foreign` foreign key (`workspace_id`) references `workspaces` (`id`), constraint `logs_trace_id_foreign` foreign key (`trace_id`) references `traces` (`id`) on delete cascade);",
    );
    this.replace("logs", logColumns);
    this.addSql(
      "create index `logs_trace_id_workspace_id_id_index` on `logs` (`trace_id`, `workspace_id`, `id`);",
    );
    this.addSql("create unique index `logs_search_id_unique` on `logs` (`search_id`);");
    this.addSql(
      "create index `logs_by_time` on `logs` (`workspace_id`, `start_time`, `id`, `prompt_slug`, `version`, `tag`, `type`, `model`, `user_id`, `organization_id`, `latency_ms`, `input_tokens`, `output_tokens`, `cost`, `cost_source`, `search_id`, `cache_read_tokens`, `cache_write_tokens`, `reasoning_tokens`);",
    );
    this.addSql(
      "create index `logs_by_prompt` on `logs` (`workspace_id`, `prompt_slug`, `start_time`, `id`);",
    );
    this.addSql(
      "create index `logs_by_user` on `logs` (`workspace_id`, `user_id`, `start_time`, `id`) where user_id is not null;",
    );
    this.addSql(
      "create index `logs_by_organization` on `logs` (`workspace_id`, `organization_id`, `start_time`, `id`) where organization_id is not null;",
    );
  }

  private replace(table: string, columns: string): void {
    this.addSql(
      `insert into \`${table}_rebuilt\` (${columns}) select ${columns} from \`${table}\` order by rowid;`,
    );
    this.addSql(`drop table \`${table}\`;`);
    this.addSql(`alter table \`${table}_rebuilt\` rename to \`${table}\`;`);
  }
}
