import { Migration } from "@mikro-orm/migrations";

export class Migration20261121000000_initial extends Migration {
  override name = "Migration20261121000000_initial";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`workspaces\` (\`id\` text not null primary key, \`name\` text not null, \`created_at\` datetime not null);`,
    );
    this.addSql(`create unique index \`workspaces_name_unique\` on \`workspaces\` (\`name\`);`);

    this.addSql(
      `create table \`traces\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`name\` text not null, \`organization\` text null, \`user\` text null, \`metadata\` text null, \`start_time\` datetime not null, \`end_time\` datetime null, \`created_at\` datetime not null, constraint \`traces_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(
      `create index \`traces_workspace_id_start_time_id_index\` on \`traces\` (\`workspace_id\`, \`start_time\`, \`id\`);`,
    );

    this.addSql(
      `create table \`prompts\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`slug\` text not null, \`name\` text not null, \`description\` text null, \`created_at\` datetime not null, constraint \`prompts_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(
      `create unique index \`prompts_workspace_id_slug_unique\` on \`prompts\` (\`workspace_id\`, \`slug\`);`,
    );

    this.addSql(
      `create table \`prompt_versions\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`prompt_id\` text not null, \`version\` text not null, \`text\` text not null, \`system_text\` text null, \`model\` text null, \`variables\` text not null, \`created_at\` datetime not null, constraint \`prompt_versions_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`prompt_versions_prompt_id_foreign\` foreign key (\`prompt_id\`) references \`prompts\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create index \`prompt_versions_prompt_id_workspace_id_id_version_index\` on \`prompt_versions\` (\`prompt_id\`, \`workspace_id\`, \`id\`, \`version\`);`,
    );
    this.addSql(
      `create unique index \`prompt_versions_prompt_id_workspace_id_version_unique\` on \`prompt_versions\` (\`prompt_id\`, \`workspace_id\`, \`version\`);`,
    );

    this.addSql(
      `create table \`prompt_tags\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`prompt_id\` text not null, \`label\` text not null, \`version_id\` text not null, \`created_at\` datetime not null, constraint \`prompt_tags_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`prompt_tags_prompt_id_foreign\` foreign key (\`prompt_id\`) references \`prompts\` (\`id\`) on delete cascade, constraint \`prompt_tags_version_id_foreign\` foreign key (\`version_id\`) references \`prompt_versions\` (\`id\`) on delete cascade);`,
    );
    this.addSql(`create index \`prompt_tags_version_id_index\` on \`prompt_tags\` (\`version_id\`);`);
    this.addSql(
      `create unique index \`prompt_tags_prompt_id_workspace_id_label_unique\` on \`prompt_tags\` (\`prompt_id\`, \`workspace_id\`, \`label\`);`,
    );

    this.addSql(
      `create table \`logs\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`trace_id\` text not null, \`type\` text check (\`type\` in ('generation')) not null, \`prompt_id\` text null, \`prompt_slug\` text not null, \`version\` text null, \`tag\` text null, \`model\` text null, \`input\` text null, \`output\` text not null, \`ideal_output\` text null, \`variables\` text null, \`metadata\` text null, \`start_time\` datetime not null, \`end_time\` datetime null, \`latency_ms\` bigint null, \`input_tokens\` integer null, \`output_tokens\` integer null, \`cost\` double null, \`cost_source\` text check (\`cost_source\` in ('REPORTED', 'COMPUTED', 'UNPRICED')) not null, \`created_at\` datetime not null, constraint \`logs_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`logs_trace_id_foreign\` foreign key (\`trace_id\`) references \`traces\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create index \`logs_workspace_id_start_time_id_index\` on \`logs\` (\`workspace_id\`, \`start_time\`, \`id\`);`,
    );
    this.addSql(
      `create index \`logs_workspace_id_prompt_id_start_time_id_index\` on \`logs\` (\`workspace_id\`, \`prompt_id\`, \`start_time\`, \`id\`);`,
    );
    this.addSql(
      `create index \`logs_trace_id_workspace_id_id_index\` on \`logs\` (\`trace_id\`, \`workspace_id\`, \`id\`);`,
    );

    this.addSql(
      `create table \`datasets\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`slug\` text not null, \`name\` text not null, \`columns\` text not null, \`created_at\` datetime not null, constraint \`datasets_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(
      `create unique index \`datasets_workspace_id_slug_unique\` on \`datasets\` (\`workspace_id\`, \`slug\`);`,
    );

    this.addSql(
      `create table \`dataset_rows\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`dataset_id\` text not null, \`name\` text null, \`values\` text not null, \`ideal_output\` text null, \`metadata\` text null, \`created_at\` datetime not null, constraint \`dataset_rows_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`dataset_rows_dataset_id_foreign\` foreign key (\`dataset_id\`) references \`datasets\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create index \`dataset_rows_dataset_id_workspace_id_id_index\` on \`dataset_rows\` (\`dataset_id\`, \`workspace_id\`, \`id\`);`,
    );

    this.addSql(
      `create table \`access_tokens\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`name\` text not null, \`hash\` text not null, \`scopes\` text not null, \`created_at\` datetime not null, \`expires_at\` datetime null, \`revoked_at\` datetime null, \`last_used_at\` datetime null, constraint \`access_tokens_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(`create index \`access_tokens_workspace_id_index\` on \`access_tokens\` (\`workspace_id\`);`);
    this.addSql(`create unique index \`access_tokens_hash_unique\` on \`access_tokens\` (\`hash\`);`);
  }
}
