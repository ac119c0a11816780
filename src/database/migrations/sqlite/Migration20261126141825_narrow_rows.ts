import { Migration } from "@mikro-orm/migrations";
import { revisionTriggers } from "./Migration20261124104902_dataset_versions.ts";

const constraints = (table: string, parent: string, of: string) =>
  `constraint \`${table}_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`${table}_${parent}_id_foreign\` foreign key (\`${parent}_id\`) references \`${of}\` (\`id\`) on delete cascade`;

/** Each table with its columns in their new order. */
const rebuilt = {
  dataset_rows: {
    definition: `\`id\` text not null primary key, \`workspace_id\` text not null, \`dataset_id\` text not null, \`version\` integer not null default 1, \`created_at\` datetime not null, \`log_id\` text null, \`key\` text null, \`name\` text null, \`ideal_output\` text null, \`metadata\` text null, \`values\` text not null, ${constraints("dataset_rows", "dataset", "datasets")}`,
    columns:
      "`id`, `workspace_id`, `dataset_id`, `version`, `created_at`, `log_id`, `key`, `name`, `ideal_output`, `metadata`, `values`",
    indexes: [
      "create index `dataset_rows_dataset_id_workspace_id_id_version_index` on `dataset_rows` (`dataset_id`, `workspace_id`, `id`, `version`);",
      "create unique index `dataset_rows_dataset_id_workspace_id_key_unique` on `dataset_rows` (`dataset_id`, `workspace_id`, `key`);",
    ],
  },
  dataset_row_revisions: {
    definition: `\`id\` text not null primary key, \`workspace_id\` text not null, \`dataset_id\` text not null, \`version\` integer not null, \`until\` integer not null, \`created_at\` datetime not null, \`log_id\` text null, \`key\` text null, \`name\` text null, \`ideal_output\` text null, \`metadata\` text null, \`values\` text not null, ${constraints("dataset_row_revisions", "dataset", "datasets")}`,
    columns:
      "`id`, `workspace_id`, `dataset_id`, `version`, `until`, `created_at`, `log_id`, `key`, `name`, `ideal_output`, `metadata`, `values`",
    indexes: [
      "create index `dataset_row_revisions_in_order` on `dataset_row_revisions` (`dataset_id`, `workspace_id`, `id`, `version`, `until`);",
    ],
  },
  prompt_versions: {
    definition: `\`id\` text not null primary key, \`workspace_id\` text not null, \`prompt_id\` text not null, \`version\` text not null, \`created_at\` datetime not null, \`source\` text null, \`model\` text null, \`variables\` text not null, \`messages\` text null, \`system_text\` text null, \`text\` text not null, ${constraints("prompt_versions", "prompt", "prompts")}`,
    columns:
      "`id`, `workspace_id`, `prompt_id`, `version`, `created_at`, `source`, `model`, `variables`, `messages`, `system_text`, `text`",
    indexes: [
      "create index `prompt_versions_prompt_id_workspace_id_id_version_index` on `prompt_versions` (`prompt_id`, `workspace_id`, `id`, `version`);",
      "create unique index `prompt_versions_prompt_id_workspace_id_version_unique` on `prompt_versions` (`prompt_id`, `workspace_id`, `version`);",
    ],
  },
  audit_entries: {
    definition:
      "`id` text not null primary key, `workspace_id` text not null, `token_id` text null, `token_name` text not null, `action` text not null, `subject` text not null, `created_at` datetime not null, `before` text null, `after` text null, constraint `audit_entries_workspace_id_foreign` foreign key (`workspace_id`) references `workspaces` (`id`)",
    columns:
      "`id`, `workspace_id`, `token_id`, `token_name`, `action`, `subject`, `created_at`, `before`, `after`",
    indexes: [
      "create index `audit_entries_workspace_id_id_index` on `audit_entries` (`workspace_id`, `id`);",
    ],
  },
};

/** Puts the texts of any length behind all other columns of rows, versions and audit entries, as `narrow_first` did for logs. */
export class Migration20261126141825_narrow_rows extends Migration {
  override name = "Migration20261126141825_narrow_rows";

  override up(): void | Promise<void> {
    for (const [table, { definition, columns, indexes }] of Object.entries(rebuilt)) {
      this.addSql(`create table \`${table}_rebuilt\` (${definition});`);
      this.addSql(
        `insert into \`${table}_rebuilt\` (${columns}) select ${columns} from \`${table}\` order by rowid;`,
      );
      this.addSql(`drop table \`${table}\`;`);
      this.addSql(`alter table \`${table}_rebuilt\` rename to \`${table}\`;`);
      for (const index of indexes) this.addSql(index);
    }
    for (const trigger of revisionTriggers) this.addSql(trigger);

    this.addSql(
      `create index \`prompts_workspace_id_feature_slug_slug_index\` on \`prompts\` (\`workspace_id\`, \`feature_slug\`, \`slug\`);`,
    );
    this.addSql(
      `create index \`prompts_deleted\` on \`prompts\` (\`deleted_at\`) where deleted_at is not null;`,
    );

    this.addSql(
      `create index \`prompt_tag_moves_prompt_id_workspace_id_label_id_index\` on \`prompt_tag_moves\` (\`prompt_id\`, \`workspace_id\`, \`label\`, \`id\`);`,
    );

    this.addSql(
      `create index \`datasets_deleted\` on \`datasets\` (\`deleted_at\`) where deleted_at is not null;`,
    );

    this.addSql(
      `create index \`console_sessions_created_at_index\` on \`console_sessions\` (\`created_at\`);`,
    );
    this.addSql(
      `create index \`console_sessions_last_used_at_index\` on \`console_sessions\` (\`last_used_at\`);`,
    );
  }
}
