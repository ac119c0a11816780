import { Migration } from "@mikro-orm/migrations";

export class Migration20261121010000_authoring extends Migration {
  override name = "Migration20261121010000_authoring";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`prompt_tag_moves\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`prompt_id\` text not null, \`label\` text not null, \`from\` text null, \`to\` text null, \`token_name\` text not null, \`created_at\` datetime not null, constraint \`prompt_tag_moves_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`prompt_tag_moves_prompt_id_foreign\` foreign key (\`prompt_id\`) references \`prompts\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create index \`prompt_tag_moves_prompt_id_workspace_id_id_index\` on \`prompt_tag_moves\` (\`prompt_id\`, \`workspace_id\`, \`id\`);`,
    );

    this.addSql(
      `create table \`audit_entries\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`token_id\` text null, \`token_name\` text not null, \`action\` text not null, \`subject\` text not null, \`before\` text null, \`after\` text null, \`created_at\` datetime not null, constraint \`audit_entries_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(
      `create index \`audit_entries_workspace_id_id_index\` on \`audit_entries\` (\`workspace_id\`, \`id\`);`,
    );

    this.addSql(`alter table \`prompts\` add column \`feature_slug\` text null;`);
    this.addSql(`alter table \`prompts\` add column \`protected_tags\` text not null default '[]';`);

    this.addSql(`alter table \`datasets\` add column \`removed_columns\` text not null default '[]';`);

    this.addSql(`alter table \`dataset_rows\` add column \`key\` text null;`);
    this.addSql(`alter table \`dataset_rows\` add column \`log_id\` text null;`);
    this.addSql(
      `create unique index \`dataset_rows_dataset_id_workspace_id_key_unique\` on \`dataset_rows\` (\`dataset_id\`, \`workspace_id\`, \`key\`);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists \`prompt_tag_moves\`;`);
    this.addSql(`drop table if exists \`audit_entries\`;`);

    this.addSql(`drop index \`dataset_rows_dataset_id_workspace_id_key_unique\`;`);
    this.addSql(`alter table \`dataset_rows\` drop column \`key\`;`);
    this.addSql(`alter table \`dataset_rows\` drop column \`log_id\`;`);

    this.addSql(`alter table \`datasets\` drop column \`removed_columns\`;`);

    this.addSql(`alter table \`prompts\` drop column \`feature_slug\`;`);
    this.addSql(`alter table \`prompts\` drop column \`protected_tags\`;`);
  }
}
