import { Migration } from "@mikro-orm/migrations";

export class Migration20261124104902_dataset_versions extends Migration {
  override name = "Migration20261124104902_dataset_versions";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "dataset_tags" ("id" uuid not null, "workspace_id" uuid not null, "dataset_id" uuid not null, "label" text collate "C" not null, "version" int not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "dataset_tags" add constraint "dataset_tags_dataset_id_workspace_id_label_unique" unique ("dataset_id", "workspace_id", "label");`,
    );

    this.addSql(
      `create table "dataset_row_revisions" ("id" text collate "C" not null, "workspace_id" uuid not null, "dataset_id" uuid not null, "version" int not null, "until" int not null, "created_at" timestamptz(3) not null, "log_id" uuid null, "name" text collate "C" null, "key" text collate "C" null, "ideal_output" text collate "C" null, "metadata" text null, "values" text not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "dataset_row_revisions_in_order" on "dataset_row_revisions" ("dataset_id", "workspace_id", "id", "version", "until");`,
    );

    this.addSql(
      `create table "dataset_columns_revisions" ("id" uuid not null, "workspace_id" uuid not null, "dataset_id" uuid not null, "until" int not null, "columns" text not null, "removed_columns" text not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "dataset_columns_revisions" add constraint "dataset_columns_revisions_dataset_id_workspace_id_until_unique" unique ("dataset_id", "workspace_id", "until");`,
    );

    this.addSql(
      `alter table "datasets" add "version" int not null default 1, add "columns_version" int not null default 1, add "protected_tags" text not null default '[]';`,
    );

    this.addSql(`drop index "dataset_rows_dataset_id_workspace_id_id_index";`);
    this.addSql(`alter table "dataset_rows" add "version" int not null default 1;`);
    this.addSql(
      `create index "dataset_rows_dataset_id_workspace_id_id_version_index" on "dataset_rows" ("dataset_id", "workspace_id", "id", "version");`,
    );

    this.addSql(
      `alter table "dataset_tags" add constraint "dataset_tags_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "dataset_tags" add constraint "dataset_tags_dataset_id_foreign" foreign key ("dataset_id") references "datasets" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "dataset_row_revisions" add constraint "dataset_row_revisions_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "dataset_row_revisions" add constraint "dataset_row_revisions_dataset_id_foreign" foreign key ("dataset_id") references "datasets" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "dataset_columns_revisions" add constraint "dataset_columns_revisions_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "dataset_columns_revisions" add constraint "dataset_columns_revisions_dataset_id_foreign" foreign key ("dataset_id") references "datasets" ("id") on delete cascade;`,
    );

    // A change within one version leaves no revision: nobody has seen what was before it.
    this.addSql(
      `create function "keep_changed_dataset_row"() returns trigger language plpgsql as $$ begin insert into "dataset_row_revisions" ("id", "workspace_id", "dataset_id", "version", "until", "created_at", "log_id", "name", "key", "ideal_output", "metadata", "values") values (old."id" || '@' || lpad(new."version"::text, 10, '0'), old."workspace_id", old."dataset_id", old."version", new."version", old."created_at", old."log_id", old."name", old."key", old."ideal_output", old."metadata", old."values"); return null; end $$;`,
    );
    this.addSql(
      `create trigger "dataset_rows_keep_changed" after update on "dataset_rows" for each row when (new."version" > old."version") execute function "keep_changed_dataset_row"();`,
    );
    // The rows of a dataset that is being deleted leave none either.
    this.addSql(
      `create function "keep_deleted_dataset_row"() returns trigger language plpgsql as $$ begin insert into "dataset_row_revisions" ("id", "workspace_id", "dataset_id", "version", "until", "created_at", "log_id", "name", "key", "ideal_output", "metadata", "values") select old."id" || '@' || lpad("datasets"."version"::text, 10, '0'), old."workspace_id", old."dataset_id", old."version", "datasets"."version", old."created_at", old."log_id", old."name", old."key", old."ideal_output", old."metadata", old."values" from "datasets" where "datasets"."id" = old."dataset_id" and "datasets"."version" > old."version" and "datasets"."deleted_at" is null; return null; end $$;`,
    );
    this.addSql(
      `create trigger "dataset_rows_keep_deleted" after delete on "dataset_rows" for each row execute function "keep_deleted_dataset_row"();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop trigger "dataset_rows_keep_changed" on "dataset_rows";`);
    this.addSql(`drop function "keep_changed_dataset_row";`);
    this.addSql(`drop trigger "dataset_rows_keep_deleted" on "dataset_rows";`);
    this.addSql(`drop function "keep_deleted_dataset_row";`);
    this.addSql(`drop table if exists "dataset_tags" cascade;`);
    this.addSql(`drop table if exists "dataset_row_revisions" cascade;`);
    this.addSql(`drop table if exists "dataset_columns_revisions" cascade;`);

    this.addSql(`drop index "dataset_rows_dataset_id_workspace_id_id_version_index";`);
    this.addSql(`alter table "dataset_rows" drop column "version";`);
    this.addSql(
      `create index "dataset_rows_dataset_id_workspace_id_id_index" on "dataset_rows" ("dataset_id", "workspace_id", "id");`,
    );

    this.addSql(
      `alter table "datasets" drop column "version", drop column "columns_version", drop column "protected_tags";`,
    );
  }
}
