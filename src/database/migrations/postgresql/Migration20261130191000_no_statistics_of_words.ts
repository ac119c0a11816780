import { Migration } from "@mikro-orm/migrations";

const INDEXES = ["log_texts_lexemes", "logs_by_metadata"];

/**
 * Has ANALYZE leave out what is indexed of words and metadata. It kept that of up to 30,000 logs in the memory of one process,
 * whatever its settings: 0.6 GB for 60 logs with metadata of 10 MB, so that a few thousand could end the server. Its figures served
 * no plan.
 */
export class Migration20261130191000_no_statistics_of_words extends Migration {
  override name = "Migration20261130191000_no_statistics_of_words";

  override up(): void | Promise<void> {
    for (const index of INDEXES) this.addSql(`alter index "${index}" alter column 1 set statistics 0;`);
  }

  override down(): void | Promise<void> {
    for (const index of INDEXES) this.addSql(`alter index "${index}" alter column 1 set statistics -1;`);
  }
}
