import { Migration } from "@mikro-orm/migrations";

export class Migration20261126141826_narrow_rows extends Migration {
  override name = "Migration20261126141826_narrow_rows";

  override up(): void | Promise<void> {
    this.addSql(
      `create index "prompts_workspace_id_feature_slug_slug_index" on "prompts" ("workspace_id", "feature_slug", "slug");`,
    );
    this.addSql(`create index "prompts_deleted" on "prompts" ("deleted_at") where deleted_at is not null;`);

    this.addSql(
      `create index "prompt_tag_moves_prompt_id_workspace_id_label_id_index" on "prompt_tag_moves" ("prompt_id", "workspace_id", "label", "id");`,
    );

    this.addSql(`create index "datasets_deleted" on "datasets" ("deleted_at") where deleted_at is not null;`);

    this.addSql(`create index "console_sessions_created_at_index" on "console_sessions" ("created_at");`);
    this.addSql(`create index "console_sessions_last_used_at_index" on "console_sessions" ("last_used_at");`);
  }
}
