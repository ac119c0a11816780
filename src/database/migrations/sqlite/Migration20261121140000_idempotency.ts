import { Migration } from "@mikro-orm/migrations";

export class Migration20261121140000_idempotency extends Migration {
  override name = "Migration20261121140000_idempotency";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`idempotent_answers\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`token_id\` text not null, \`key_hash\` text not null, \`request_hash\` text not null, \`answer\` text not null, \`created_at\` datetime not null, constraint \`idempotent_answers_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(
      `create index \`idempotent_answers_created_at_index\` on \`idempotent_answers\` (\`created_at\`);`,
    );
    this.addSql(
      `create unique index \`idempotent_answers_workspace_id_token_id_key_hash_unique\` on \`idempotent_answers\` (\`workspace_id\`, \`token_id\`, \`key_hash\`);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists \`idempotent_answers\`;`);
  }
}
