import { Migration } from "@mikro-orm/migrations";

/**
 * Sets the share of a segment of the full-text index that is removed, in percent, before SQLite writes the segment again
 * without it. With the default of 10 it writes the words of the logs that stay ten times over while others go: to remove logs
 * takes five times as long, and to store 5,000 spans again twice as long. With 90 it has ten times as much to read for what
 * it writes in a step.
 */
export class Migration20261125214500_removed_words extends Migration {
  override name = "Migration20261125214500_removed_words";

  override up(): void | Promise<void> {
    this.addSql("insert into `log_texts` (`log_texts`, `rank`) values ('deletemerge', 50);");
  }

  override down(): void | Promise<void> {
    this.addSql("insert into `log_texts` (`log_texts`, `rank`) values ('deletemerge', 10);");
  }
}
