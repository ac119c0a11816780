import { Migration } from "@mikro-orm/migrations";

// More would let one huge log hold up everybody. What is cut off must not even be gathered first.
const INDEXED_CHARACTERS = 100_000;

/** The texts and numbers inside the JSON of a column, so that no word is glued to an escape such as \\n. */
const wordsOf = (column: string) =>
  `(select substr(group_concat(atom, char(10)), 1, ${INDEXED_CHARACTERS}) from (select substr(atom, 1, ${INDEXED_CHARACTERS}) as atom from json_tree(\`logs\`.\`${column}\`) where type in ('text', 'integer', 'real') limit ${INDEXED_CHARACTERS}))`;

/**
 * Has those who write many logs put their words into the full-text index together. After each log that a trigger adds,
 * SQLite writes the index as it is then: one log, one segment, and all of them must be merged.
 */
export class Migration20261121150000_words extends Migration {
  override name = "Migration20261121150000_words";

  override up(): void | Promise<void> {
    // The workspace is a single word, and the parts have columns of their own, so that no phrase runs from one to another.
    this.addSql(
      `create view \`log_words\` as select \`id\`, \`search_id\`, replace(\`workspace_id\`, '-', '') as \`workspace\`, ${wordsOf("input")} as \`input\`, ${wordsOf("output")} as \`output\` from \`logs\`;`,
    );
    this.addSql(`drop trigger \`logs_search_insert\`;`);
    this.addSql(
      `create trigger \`logs_search_insert\` after insert on \`logs\` when new.\`search_id\` is null begin insert into \`log_texts\` (\`workspace\`, \`input\`, \`output\`) select \`workspace\`, \`input\`, \`output\` from \`log_words\` where \`id\` = new.\`id\`; update \`logs\` set \`search_id\` = last_insert_rowid() where \`id\` = new.\`id\`; end;`,
    );
  }
}
