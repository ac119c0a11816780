import { Migration } from "@mikro-orm/migrations";

const INDEXED_CHARACTERS = 100_000;

/** As the migration that made the view has it. */
const wordsOf = (column: string) =>
  `(select substr(group_concat(atom, char(10)), 1, ${INDEXED_CHARACTERS}) from (select substr(atom, 1, ${INDEXED_CHARACTERS}) as atom from json_tree(\`logs\`.\`${column}\`) where type in ('text', 'integer', 'real') limit ${INDEXED_CHARACTERS}))`;

/** The view and the triggers that keep the words of logs. */
export const fullTextStatements = [
  `create view \`log_words\` as select \`id\`, \`search_id\`, replace(\`workspace_id\`, '-', '') as \`workspace\`, ${wordsOf("input")} as \`input\`, ${wordsOf("output")} as \`output\` from \`logs\`;`,
  "create trigger `logs_search_insert` after insert on `logs` when new.`search_id` is null begin insert into `log_texts` (`workspace`, `input`, `output`) select `workspace`, `input`, `output` from `log_words` where `id` = new.`id`; update `logs` set `search_id` = last_insert_rowid() where `id` = new.`id`; end;",
  "create trigger `logs_search_delete` after delete on `logs` begin delete from `log_texts` where rowid = old.`search_id`; end;",
];

/** Of each index: how many rows share its first column, its first two, and so on. Dropping a table drops these, too. */
export const logStatistics = [
  ["logs", "sqlite_autoindex_logs_1", "1"],
  ["logs", "logs_by_time", `10000 2 ${"1 ".repeat(14).trim()}`],
  ["logs", "logs_by_prompt", "10000 500 2 1"],
  ["logs", "logs_by_user", "10000 50 2 1"],
  ["logs", "logs_by_organization", "10000 50 2 1"],
  ["logs", "logs_search_id_unique", "1"],
  ["logs", "logs_trace_id_workspace_id_id_index", "1 1 1"],
  ["traces", "sqlite_autoindex_traces_1", "1"],
  ["traces", "traces_workspace_id_start_time_id_index", "10000 2 1"],
];

const traceColumns =
  "`id`, `workspace_id`, `start_time`, `end_time`, `created_at`, `name`, `user`, `organization`, `metadata`";
const logColumns =
  "`id`, `workspace_id`, `trace_id`, `type`, `prompt_id`, `start_time`, `end_time`, `latency_ms`, `input_tokens`, `output_tokens`, `cost`, `cost_source`, `created_at`, `search_id`, `version`, `tag`, `provider`, `model`, `prompt_slug`, `user_id`, `organization_id`, `metadata`, `variables`, `ideal_output`, `input`, `output`";

/**
 * Puts the columns that callers fill at any length behind all others. To reach a column SQLite reads the row up to it:
 * the time of a log of 10 MB behind its input and output cost as much as both.
 */
export class Migration20261123020000_narrow_first extends Migration {
  override name = "Migration20261123020000_narrow_first";

  override up(): void | Promise<void> {
    this.addSql("drop trigger `logs_search_insert`;");
    this.addSql("drop trigger `logs_search_delete`;");
    this.addSql("drop view `log_words`;");
    this.rebuildTraces();
    this.rebuildLogs();
    this.restoreFullTextIndex();
    for (const [table, index, figures] of logStatistics)
      this.addSql(
        `insert into sqlite_stat1 (tbl, idx, stat) values ('${table}', '${index}', '1000000 ${figures}');`,
      );
    this.addSql("analyze sqlite_schema;"); // reads it
  }

  private rebuildTraces(): void {
    this.addSql(
      "create table `traces_rebuilt` (`id` text not null primary key, `workspace_id` text not null, `start_time` datetime not null, `end_time` datetime null, `created_at` datetime not null, `name` text not null, `user` text null, `organization` text null, `metadata` text null, constraint `traces_workspace_id_foreign` foreign key (`workspace_id`) references `workspaces` (`id`));",
    );
    this.replace("traces", traceColumns);
    this.addSql(
      "create index `traces_workspace_id_start_time_id_index` on `traces` (`workspace_id`, `start_time`, `id`);",
    );
  }

  private rebuildLogs(): void {
    this.addSql(
      "create table `logs_rebuilt` (`id` text not null primary key, `workspace_id` text not null, `trace_id` text not null, `type` text check (`type` in ('generation')) not null, `prompt_id` text null, `start_time` datetime not null, `end_time` datetime null, `latency_ms` bigint null, `input_tokens` integer null, `output_tokens` integer null, `cost` double null, `cost_source` text check (`cost_source` in ('REPORTED', 'COMPUTED', 'UNPRICED')) not null, `created_at` datetime not null, `search_id` integer null, `version` text null, `tag` text null, `provider` text null, `model` text null, `prompt_slug` text not null, `user_id` text null, `organization_id` text null, `metadata` text null, `variables` text null, `ideal_output` text null, `input` text null, `output` text not null, constraint `logs_workspace_id_foreign` foreign key (`workspace_id`) references `workspaces` (`id`), constraint `logs_trace_id_foreign` foreign key (`trace_id`) references `traces` (`id`) on delete cascade);",
    );
    this.replace("logs", logColumns);
    this.addSql(
      "create index `logs_trace_id_workspace_id_id_index` on `logs` (`trace_id`, `workspace_id`, `id`);",
    );
    this.addSql("create unique index `logs_search_id_unique` on `logs` (`search_id`);");
    this.addSql(
      "create index `logs_by_time` on `logs` (`workspace_id`, `start_time`, `id`, `prompt_slug`, `version`, `tag`, `type`, `model`, `user_id`, `organization_id`, `latency_ms`, `input_tokens`, `output_tokens`, `cost`, `cost_source`, `search_id`);",
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

  private restoreFullTextIndex(): void {
    for (const statement of fullTextStatements) this.addSql(statement);
  }
}
