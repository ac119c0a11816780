import { Migration } from "@mikro-orm/migrations";

export class Migration20261123123137_deleted_prompts extends Migration {
  override name = "Migration20261123123137_deleted_prompts";

  override up(): void | Promise<void> {
    this.addSql(`alter table "prompts" add "deleted_at" timestamptz(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "prompts" drop column "deleted_at";`);
  }
}
