import { Migration } from "@mikro-orm/migrations";

export class Migration20261124202809_console_sessions extends Migration {
  override name = "Migration20261124202809_console_sessions";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "sign_in_links" ("id" uuid not null, "workspace_id" uuid not null, "token_id" uuid not null, "hash" varchar(64) not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "sign_in_links_workspace_id_index" on "sign_in_links" ("workspace_id");`);
    this.addSql(`create index "sign_in_links_token_id_index" on "sign_in_links" ("token_id");`);
    this.addSql(`alter table "sign_in_links" add constraint "sign_in_links_hash_unique" unique ("hash");`);

    this.addSql(
      `create table "console_sessions" ("id" uuid not null, "workspace_id" uuid not null, "token_id" uuid not null, "hash" varchar(64) not null, "created_at" timestamptz(3) not null, "last_used_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "console_sessions_workspace_id_index" on "console_sessions" ("workspace_id");`);
    this.addSql(`create index "console_sessions_token_id_index" on "console_sessions" ("token_id");`);
    this.addSql(
      `alter table "console_sessions" add constraint "console_sessions_hash_unique" unique ("hash");`,
    );

    this.addSql(
      `alter table "sign_in_links" add constraint "sign_in_links_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "sign_in_links" add constraint "sign_in_links_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id");`,
    );

    this.addSql(
      `alter table "console_sessions" add constraint "console_sessions_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "console_sessions" add constraint "console_sessions_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "sign_in_links" cascade;`);
    this.addSql(`drop table if exists "console_sessions" cascade;`);
  }
}
