import { Migration } from "@mikro-orm/migrations";

export class Migration20261121140000_idempotency extends Migration {
  override name = "Migration20261121140000_idempotency";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "idempotent_answers" ("id" uuid not null, "workspace_id" uuid not null, "token_id" uuid not null, "key_hash" varchar(64) not null, "request_hash" varchar(64) not null, "answer" text collate "C" not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "idempotent_answers_created_at_index" on "idempotent_answers" ("created_at");`);
    this.addSql(
      `alter table "idempotent_answers" add constraint "idempotent_answers_workspace_id_token_id_key_hash_unique" unique ("workspace_id", "token_id", "key_hash");`,
    );

    this.addSql(
      `alter table "idempotent_answers" add constraint "idempotent_answers_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "idempotent_answers" cascade;`);
  }
}
