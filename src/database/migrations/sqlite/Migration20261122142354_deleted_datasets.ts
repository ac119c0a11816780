import { Migration } from "@mikro-orm/migrations";

export class Migration20261122142354_deleted_datasets extends Migration {
  override name = "Migration20261122142354_deleted_datasets";

  override up(): void | Promise<void> {
    this.addSql(`alter table \`datasets\` add column \`deleted_at\` datetime null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table \`datasets\` drop column \`deleted_at\`;`);
  }
}
