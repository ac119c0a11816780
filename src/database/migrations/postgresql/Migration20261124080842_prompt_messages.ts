import { Migration } from "@mikro-orm/migrations";

export class Migration20261124080842_prompt_messages extends Migration {
  override name = "Migration20261124080842_prompt_messages";

  override up(): void | Promise<void> {
    this.addSql(`alter table "prompt_versions" add "messages" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "prompt_versions" drop column "messages";`);
  }
}
