import { Migration } from "@mikro-orm/migrations";

export class Migration20261124203121_files extends Migration {
  override name = "Migration20261124203121_files";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`files\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`name\` text not null, \`content_type\` text not null, \`announced_bytes\` integer null, \`secret\` text not null, \`upload\` text null, \`size_bytes\` integer null, \`sha256\` text null, \`created_at\` datetime not null, constraint \`files_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(`create index \`files_upload_created_at_index\` on \`files\` (\`upload\`, \`created_at\`);`);

    this.addSql(
      `create table \`file_chunks\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`file_id\` text not null, \`upload\` text not null, \`data\` text not null, constraint \`file_chunks_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`file_chunks_file_id_foreign\` foreign key (\`file_id\`) references \`files\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create index \`file_chunks_file_id_workspace_id_upload_id_index\` on \`file_chunks\` (\`file_id\`, \`workspace_id\`, \`upload\`, \`id\`);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists \`file_chunks\`;`);
    this.addSql(`drop table if exists \`files\`;`);
  }
}
