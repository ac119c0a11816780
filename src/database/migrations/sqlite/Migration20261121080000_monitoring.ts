import { Migration } from "@mikro-orm/migrations";

// More would let one huge log hold up everybody. What is cut off must not even be gathered first.
const INDEXED_CHARACTERS = 100_000;

/** The workspace as a single word of the index. */
const workspaceOf = (row: string) => `replace(${row}.\`workspace_id\`, '-', '')`;

/** The texts and numbers inside the JSON of a part, so that no word is glued to an escape such as \\n. */
const wordsOf = (json: string) =>
  `(select substr(group_concat(atom, char(10)), 1, ${INDEXED_CHARACTERS}) from (select substr(atom, 1, ${INDEXED_CHARACTERS}) as atom from json_tree(${json}) where type in ('text', 'integer', 'real') limit ${INDEXED_CHARACTERS}))`;

/** The parts in columns of their own, so that no phrase runs over from one to the other. */
const partsOf = (row: string) => `${wordsOf(`${row}.\`input\``)}, ${wordsOf(`${row}.\`output\``)}`;

/** Of each index: how many rows share its first column, its first two, and so on. */
const statistics = [
  ["logs", "sqlite_autoindex_logs_1", "1"],
  ["logs", "logs_by_time", `10000 2 ${"1 ".repeat(14).trim()}`],
  ["logs", "logs_by_prompt", "10000 500 2 1"],
  ["logs", "logs_by_user", "10000 50 2 1"],
  ["logs", "logs_by_organization", "10000 50 2 1"],
  ["logs", "logs_search_id_unique", "1"],
  ["logs", "logs_trace_id_workspace_id_id_index", "1 1 1"],
  ["traces", "sqlite_autoindex_traces_1", "1"],
  ["traces", "traces_workspace_id_start_time_id_index", "10000 2 1"],
];

export class Migration20261121080000_monitoring extends Migration {
  override name = "Migration20261121080000_monitoring";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`model_prices\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`model\` text not null, \`provider\` text not null, \`valid_from\` datetime not null, \`input_price\` double not null, \`output_price\` double not null, \`created_at\` datetime not null, constraint \`model_prices_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`));`,
    );
    this.addSql(
      `create unique index \`model_prices_workspace_id_model_provider_valid_from_unique\` on \`model_prices\` (\`workspace_id\`, \`model\`, \`provider\`, \`valid_from\`);`,
    );

    this.addSql(`drop index \`logs_workspace_id_prompt_id_start_time_id_index\`;`);
    this.addSql(`drop index \`logs_workspace_id_start_time_id_index\`;`);
    this.addSql(`alter table \`logs\` add column \`provider\` text null;`);
    this.addSql(`alter table \`logs\` add column \`user_id\` text null;`);
    this.addSql(`alter table \`logs\` add column \`organization_id\` text null;`);
    this.addSql(`alter table \`logs\` add column \`search_id\` integer null;`);
    this.addSql(`create unique index \`logs_search_id_unique\` on \`logs\` (\`search_id\`);`);
    this.addSql(
      `create index \`logs_by_time\` on \`logs\` (\`workspace_id\`, \`start_time\`, \`id\`, \`prompt_slug\`, \`version\`, \`tag\`, \`type\`, \`model\`, \`user_id\`, \`organization_id\`, \`latency_ms\`, \`input_tokens\`, \`output_tokens\`, \`cost\`, \`cost_source\`, \`search_id\`);`,
    );
    this.addSql(
      `create index \`logs_by_prompt\` on \`logs\` (\`workspace_id\`, \`prompt_slug\`, \`start_time\`, \`id\`);`,
    );
    this.addSql(
      `create index \`logs_by_user\` on \`logs\` (\`workspace_id\`, \`user_id\`, \`start_time\`, \`id\`) where user_id is not null;`,
    );
    this.addSql(
      `create index \`logs_by_organization\` on \`logs\` (\`workspace_id\`, \`organization_id\`, \`start_time\`, \`id\`) where organization_id is not null;`,
    );
    this.addSql(
      `update \`logs\` set \`search_id\` = rowid, \`user_id\` = (select json_extract(\`user\`, '$.id') from \`traces\` where \`traces\`.\`id\` = \`trace_id\`), \`organization_id\` = (select json_extract(\`organization\`, '$.id') from \`traces\` where \`traces\`.\`id\` = \`trace_id\`);`,
    );
    this.addFullTextIndex();
    this.addStatistics();
  }

  /**
   * Tells the planner what to expect. Without it SQLite takes a workspace for ten rows, and reads all of its logs where
   * it should look up fifty by their ids; and figures that do not follow the data keep the plans the same for ever.
   */
  private addStatistics(): void {
    this.addSql("analyze `workspaces`;"); // makes the table of statistics
    for (const [table, index, figures] of statistics)
      this.addSql(
        `insert into sqlite_stat1 (tbl, idx, stat) values ('${table}', '${index}', '1000000 ${figures}');`,
      );
    this.addSql("analyze sqlite_schema;"); // reads it
  }

  /** Finds logs by the words in their input and output. Triggers keep it, so that no way of writing can miss it. */
  private addFullTextIndex(): void {
    this.addSql(
      `create virtual table \`log_texts\` using fts5(\`workspace\`, \`input\`, \`output\`, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 0");`,
    );
    this.addSql(
      `insert into \`log_texts\` (rowid, \`workspace\`, \`input\`, \`output\`) select \`search_id\`, ${workspaceOf("logs")}, ${partsOf("logs")} from \`logs\`;`,
    );
    this.addSql(
      `create trigger \`logs_search_insert\` after insert on \`logs\` begin insert into \`log_texts\` (\`workspace\`, \`input\`, \`output\`) values (${workspaceOf("new")}, ${partsOf("new")}); update \`logs\` set \`search_id\` = last_insert_rowid() where \`id\` = new.\`id\`; end;`,
    );
    this.addSql(
      `create trigger \`logs_search_delete\` after delete on \`logs\` begin delete from \`log_texts\` where rowid = old.\`search_id\`; end;`,
    );
  }
}
