import { Migration } from "@mikro-orm/migrations";

export class Migration20261121120000_initial extends Migration {
  override name = "Migration20261121120000_initial";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "workspaces" ("id" uuid not null, "name" text collate "C" not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`alter table "workspaces" add constraint "workspaces_name_unique" unique ("name");`);

    this.addSql(
      `create table "traces" ("id" uuid not null, "workspace_id" uuid not null, "name" text collate "C" not null, "organization" text null, "user" text null, "metadata" text null, "start_time" timestamptz(3) not null, "end_time" timestamptz(3) null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "traces_workspace_id_start_time_id_index" on "traces" ("workspace_id", "start_time", "id");`,
    );

    this.addSql(
      `create table "prompts" ("id" uuid not null, "workspace_id" uuid not null, "slug" text collate "C" not null, "name" text collate "C" not null, "description" text collate "C" null, "feature_slug" text collate "C" null, "protected_tags" text not null default '[]', "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "prompts" add constraint "prompts_workspace_id_slug_unique" unique ("workspace_id", "slug");`,
    );

    this.addSql(
      `create table "prompt_versions" ("id" uuid not null, "workspace_id" uuid not null, "prompt_id" uuid not null, "version" text collate "C" not null, "text" text collate "C" not null, "system_text" text collate "C" null, "model" text null, "variables" text not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "prompt_versions_prompt_id_workspace_id_id_version_index" on "prompt_versions" ("prompt_id", "workspace_id", "id", "version");`,
    );
    this.addSql(
      `alter table "prompt_versions" add constraint "prompt_versions_prompt_id_workspace_id_version_unique" unique ("prompt_id", "workspace_id", "version");`,
    );

    this.addSql(
      `create table "prompt_tag_moves" ("id" uuid not null, "workspace_id" uuid not null, "prompt_id" uuid not null, "label" text collate "C" not null, "from" text collate "C" null, "to" text collate "C" null, "token_name" text collate "C" not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "prompt_tag_moves_prompt_id_workspace_id_id_index" on "prompt_tag_moves" ("prompt_id", "workspace_id", "id");`,
    );

    this.addSql(
      `create table "prompt_tags" ("id" uuid not null, "workspace_id" uuid not null, "prompt_id" uuid not null, "label" text collate "C" not null, "version_id" uuid not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "prompt_tags_version_id_index" on "prompt_tags" ("version_id");`);
    this.addSql(
      `alter table "prompt_tags" add constraint "prompt_tags_prompt_id_workspace_id_label_unique" unique ("prompt_id", "workspace_id", "label");`,
    );

    this.addSql(
      `create table "model_prices" ("id" uuid not null, "workspace_id" uuid not null, "model" text collate "C" not null, "provider" text collate "C" not null, "valid_from" timestamptz(3) not null, "input_price" double precision not null, "output_price" double precision not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "model_prices" add constraint "model_prices_workspace_id_model_provider_valid_from_unique" unique ("workspace_id", "model", "provider", "valid_from");`,
    );

    this.addSql(
      `create table "logs" ("id" uuid not null, "workspace_id" uuid not null, "trace_id" uuid not null, "type" text not null, "prompt_id" uuid null, "prompt_slug" text collate "C" not null, "version" text collate "C" null, "tag" text collate "C" null, "provider" text collate "C" null, "model" text collate "C" null, "user_id" text collate "C" null, "organization_id" text collate "C" null, "input" text null, "output" text not null, "ideal_output" text null, "variables" text null, "metadata" text null, "start_time" timestamptz(3) not null, "end_time" timestamptz(3) null, "latency_ms" bigint null, "input_tokens" int null, "output_tokens" int null, "cost" double precision null, "cost_source" text not null, "created_at" timestamptz(3) not null, "search_id" int null, primary key ("id"));`,
    );
    this.addSql(
      `create index "logs_by_time" on "logs" ("workspace_id", "start_time", "id") include ("latency_ms", "input_tokens", "output_tokens", "cost", "cost_source");`,
    );
    this.addSql(
      `create index "logs_by_prompt" on "logs" ("workspace_id", left("prompt_slug", 256), "start_time", "id");`,
    );
    this.addSql(
      `create index "logs_by_user" on "logs" ("workspace_id", left("user_id", 256), "start_time", "id") where "user_id" is not null;`,
    );
    this.addSql(
      `create index "logs_by_organization" on "logs" ("workspace_id", left("organization_id", 256), "start_time", "id") where "organization_id" is not null;`,
    );
    this.addSql(
      `create index "logs_by_metadata" on "logs" using gin (cast("metadata" as jsonb) jsonb_path_ops) where "metadata" is not null;`,
    );
    this.addSql(
      `create index "logs_trace_id_workspace_id_id_index" on "logs" ("trace_id", "workspace_id", "id");`,
    );
    this.addSql(`alter table "logs" add constraint "logs_type_check" check ("type" in ('generation'));`);
    this.addSql(
      `alter table "logs" add constraint "logs_cost_source_check" check ("cost_source" in ('REPORTED', 'COMPUTED', 'UNPRICED'));`,
    );

    this.addSql(
      `create table "datasets" ("id" uuid not null, "workspace_id" uuid not null, "slug" text collate "C" not null, "name" text collate "C" not null, "columns" text not null, "removed_columns" text not null default '[]', "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `alter table "datasets" add constraint "datasets_workspace_id_slug_unique" unique ("workspace_id", "slug");`,
    );

    this.addSql(
      `create table "dataset_rows" ("id" uuid not null, "workspace_id" uuid not null, "dataset_id" uuid not null, "name" text collate "C" null, "key" text collate "C" null, "log_id" uuid null, "values" text not null, "ideal_output" text collate "C" null, "metadata" text null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "dataset_rows_dataset_id_workspace_id_id_index" on "dataset_rows" ("dataset_id", "workspace_id", "id");`,
    );
    this.addSql(
      `alter table "dataset_rows" add constraint "dataset_rows_dataset_id_workspace_id_key_unique" unique ("dataset_id", "workspace_id", "key");`,
    );

    this.addSql(
      `create table "audit_entries" ("id" uuid not null, "workspace_id" uuid not null, "token_id" uuid null, "token_name" text collate "C" not null, "action" text collate "C" not null, "subject" text collate "C" not null, "before" text null, "after" text null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "audit_entries_workspace_id_id_index" on "audit_entries" ("workspace_id", "id");`,
    );

    this.addSql(
      `create table "access_tokens" ("id" uuid not null, "workspace_id" uuid not null, "name" text collate "C" not null, "hash" varchar(64) not null, "scopes" text not null, "created_at" timestamptz(3) not null, "expires_at" timestamptz(3) null, "revoked_at" timestamptz(3) null, "last_used_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "access_tokens_workspace_id_index" on "access_tokens" ("workspace_id");`);
    this.addSql(`alter table "access_tokens" add constraint "access_tokens_hash_unique" unique ("hash");`);

    this.addSql(
      `alter table "traces" add constraint "traces_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );

    this.addSql(
      `alter table "prompts" add constraint "prompts_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );

    this.addSql(
      `alter table "prompt_versions" add constraint "prompt_versions_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "prompt_versions" add constraint "prompt_versions_prompt_id_foreign" foreign key ("prompt_id") references "prompts" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "prompt_tag_moves" add constraint "prompt_tag_moves_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "prompt_tag_moves" add constraint "prompt_tag_moves_prompt_id_foreign" foreign key ("prompt_id") references "prompts" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "prompt_tags" add constraint "prompt_tags_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "prompt_tags" add constraint "prompt_tags_prompt_id_foreign" foreign key ("prompt_id") references "prompts" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "prompt_tags" add constraint "prompt_tags_version_id_foreign" foreign key ("version_id") references "prompt_versions" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "model_prices" add constraint "model_prices_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );

    this.addSql(
      `alter table "logs" add constraint "logs_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "logs" add constraint "logs_trace_id_foreign" foreign key ("trace_id") references "traces" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "datasets" add constraint "datasets_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );

    this.addSql(
      `alter table "dataset_rows" add constraint "dataset_rows_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addSql(
      `alter table "dataset_rows" add constraint "dataset_rows_dataset_id_foreign" foreign key ("dataset_id") references "datasets" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "audit_entries" add constraint "audit_entries_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );

    this.addSql(
      `alter table "access_tokens" add constraint "access_tokens_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
    this.addFullTextIndex();
  }

  /**
   * Finds logs by the words in their input and output. The program fills in the words, as it alone cuts them the same for
   * every database: what is a letter here depends on the locale of the server.
   */
  private addFullTextIndex(): void {
    this.addSql(
      `create table "log_texts" ("log_id" uuid not null primary key references "logs" ("id") on delete cascade, "workspace_id" uuid not null, "body" text collate "C" not null);`,
    );
    // Words without their places, cut to what the index takes; so they never exceed what it takes of one text.
    this.addSql(
      `create function log_words(workspace_id uuid, body text) returns tsvector language sql immutable parallel safe cost 1000 return array_to_tsvector(array_append(array(select distinct left(word, 400) from string_to_table(btrim(body), ' ') as word where word <> ''), 'workspace-' || workspace_id));`,
    );
    this.addSql(
      `create index "log_texts_words" on "log_texts" using gin (log_words("workspace_id", "body"));`,
    );
  }
}
