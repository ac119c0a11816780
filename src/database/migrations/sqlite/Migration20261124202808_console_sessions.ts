import { Migration } from "@mikro-orm/migrations";

export class Migration20261124202808_console_sessions extends Migration {
  override name = "Migration20261124202808_console_sessions";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`sign_in_links\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`token_id\` text not null, \`hash\` text not null, \`created_at\` datetime not null, constraint \`sign_in_links_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`sign_in_links_token_id_foreign\` foreign key (\`token_id\`) references \`access_tokens\` (\`id\`));`,
    );
    this.addSql(`create index \`sign_in_links_workspace_id_index\` on \`sign_in_links\` (\`workspace_id\`);`);
    this.addSql(`create index \`sign_in_links_token_id_index\` on \`sign_in_links\` (\`token_id\`);`);
    this.addSql(`create unique index \`sign_in_links_hash_unique\` on \`sign_in_links\` (\`hash\`);`);

    this.addSql(
      `create table \`console_sessions\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`token_id\` text not null, \`hash\` text not null, \`created_at\` datetime not null, \`last_used_at\` datetime not null, constraint \`console_sessions_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`console_sessions_token_id_foreign\` foreign key (\`token_id\`) references \`access_tokens\` (\`id\`));`,
    );
    this.addSql(
      `create index \`console_sessions_workspace_id_index\` on \`console_sessions\` (\`workspace_id\`);`,
    );
    this.addSql(`create index \`console_sessions_token_id_index\` on \`console_sessions\` (\`token_id\`);`);
    this.addSql(`create unique index \`console_sessions_hash_unique\` on \`console_sessions\` (\`hash\`);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists \`sign_in_links\`;`);
    this.addSql(`drop table if exists \`console_sessions\`;`);
  }
}
