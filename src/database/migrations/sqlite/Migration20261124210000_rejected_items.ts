import { Migration } from "@mikro-orm/migrations";

export class Migration20261124210000_rejected_items extends Migration {
  override name = "Migration20261124210000_rejected_items";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`rejected_items\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`created_at\` datetime not null, \`count\` integer not null, \`endpoint\` text not null, \`code\` text not null, \`client\` text null, \`reason\` text not null, \`sample\` text null, constraint \`rejected_items_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(`create index \`rejected_items_created_at_index\` on \`rejected_items\` (\`created_at\`);`);
    this.addSql(
      `create index \`rejected_items_workspace_id_id_index\` on \`rejected_items\` (\`workspace_id\`, \`id\`);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists \`rejected_items\`;`);
  }
}
