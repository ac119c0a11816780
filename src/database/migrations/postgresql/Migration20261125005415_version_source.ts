import { Migration } from "@mikro-orm/migrations";

export class Migration20261125005415_version_source extends Migration {
  override name = "Migration20261125005415_version_source";

  override up(): void | Promise<void> {
    this.addSql(`alter table "prompt_versions" add "source" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "prompt_versions" drop column "source";`);
  }
}
