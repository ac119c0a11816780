import { Migration } from "@mikro-orm/migrations";

export class Migration20261124210000_rejected_items extends Migration {
  override name = "Migration20261124210000_rejected_items";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "rejected_items" ("id" uuid not null, "workspace_id" uuid not null, "created_at" timestamptz(3) not null, "count" int not null, "endpoint" text collate "C" not null, "code" text collate "C" not null, "client" text collate "C" null, "reason" text collate "C" not null, "sample" text collate "C" null, primary key ("id"));`,
    );
    this.addSql(`create index "rejected_items_created_at_index" on "rejected_items" ("created_at");`);
    this.addSql(
      `create index "rejected_items_workspace_id_id_index" on "rejected_items" ("workspace_id", "id");`,
    );

    this.addSql(
      `alter table "rejected_items" add constraint "rejected_items_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "rejected_items" cascade;`);
  }
}
