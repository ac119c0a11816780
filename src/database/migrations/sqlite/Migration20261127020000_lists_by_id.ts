import { Migration } from "@mikro-orm/migrations";

/**
 * Lists of tokens and of sessions are read in the order of their ids: without this index each page sorts all of a workspace.
 * The checkup reads the tokens that were not revoked, however many others there are.
 * Sessions are deleted when their token is revoked; those of tokens that were revoked before are deleted here.
 */
export class Migration20261127020000_lists_by_id extends Migration {
  override name = "Migration20261127020000_lists_by_id";

  override up(): void | Promise<void> {
    this.addSql(
      `delete from \`console_sessions\` where \`token_id\` in (select \`id\` from \`access_tokens\` where \`revoked_at\` is not null);`,
    );
    this.addSql(`drop index \`access_tokens_workspace_id_index\`;`);
    this.addSql(
      `create index \`access_tokens_workspace_id_id_index\` on \`access_tokens\` (\`workspace_id\`, \`id\`);`,
    );

    this.addSql(
      `create index \`access_tokens_unrevoked\` on \`access_tokens\` (\`workspace_id\`, \`id\`) where revoked_at is null;`,
    );

    this.addSql(`drop index \`console_sessions_workspace_id_index\`;`);
    this.addSql(
      `create index \`console_sessions_workspace_id_id_index\` on \`console_sessions\` (\`workspace_id\`, \`id\`);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index \`access_tokens_unrevoked\`;`);
    this.addSql(`drop index \`access_tokens_workspace_id_id_index\`;`);
    this.addSql(`create index \`access_tokens_workspace_id_index\` on \`access_tokens\` (\`workspace_id\`);`);

    this.addSql(`drop index \`console_sessions_workspace_id_id_index\`;`);
    this.addSql(
      `create index \`console_sessions_workspace_id_index\` on \`console_sessions\` (\`workspace_id\`);`,
    );
  }
}
