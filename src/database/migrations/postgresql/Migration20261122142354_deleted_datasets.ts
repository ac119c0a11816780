import { Migration } from "@mikro-orm/migrations";

export class Migration20261122142354_deleted_datasets extends Migration {
  override name = "Migration20261122142354_deleted_datasets";

  override up(): void | Promise<void> {
    this.addSql(`alter table "datasets" add "deleted_at" timestamptz(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "datasets" drop column "deleted_at";`);
  }
}
