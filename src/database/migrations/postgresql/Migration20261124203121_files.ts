import { Migration } from "@mikro-orm/migrations";

export class Migration20261124203121_files extends Migration {
  override name = "Migration20261124203121_files";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "files" ("id" uuid not null, "workspace_id" uuid not null, "name" text collate "C" not null, "content_type" text collate "C" not null, "announced_bytes" int null, "secret" text collate "C" not null, "upload" uuid null, "size_bytes" int null, "sha256" varchar(64) null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "files_upload_created_at_index" on "files" ("upload", "created_at");`);

    this.addSql(
      `create table "file_chunks" ("id" uuid not null, "workspace_id" uuid not null, "file_id" uuid not null, "upload" uuid not null, "data" text collate "C" not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "file_chunks_file_id_workspace_id_upload_id_index" on "file_chunks" ("file_id", "workspace_id", "upload", "id");`,
    );

    this.addSql(
      `alter table "files" add constraint "files_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );

    this.addSql(
      `alter table "file_chunks" add constraint "file_chunks_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "file_chunks" add constraint "file_chunks_file_id_foreign" foreign key ("file_id") references "files" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "file_chunks";`);
    this.addSql(`drop table if exists "files";`);
  }
}
