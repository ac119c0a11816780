import { Migration } from "@mikro-orm/migrations";

/**
 * Indexes each word with a mark of its workspace in front of it. PostgreSQL collects all entries of a prefix before it looks which
 * logs are of a workspace: a search for `a*` over a few logs took 700 to 1,024 ms where somebody else had 4.75 million different words
 * with an a, and its time showed that they were there.
 *
 * `log_words` stays for processes of the version before, which read all texts to search until they are replaced.
 */
export class Migration20261127021000_words_of_workspaces extends Migration {
  override name = "Migration20261127021000_words_of_workspaces";

  override up(): void | Promise<void> {
    // The last digits of an id are random, and single spaces separate the words.
    this.addSql(
      `create or replace function log_lexemes_cut(workspace_id uuid, body text) returns tsvector language sql immutable parallel safe cost 1000 return array_to_tsvector(array(select distinct right(cast(workspace_id as text), 8) || left(word, 400) from string_to_table(btrim(body), ' ') as word where word <> ''));`,
    );
    this.addSql(
      `create or replace function log_lexemes(workspace_id uuid, body text) returns tsvector language sql immutable parallel safe cost 1000 return case when body like '+%' then array_to_tsvector(string_to_array(right(cast(workspace_id as text), 8) || replace(btrim(body, '+ '), ' ', ' ' || right(cast(workspace_id as text), 8)), ' ')) else log_lexemes_cut(workspace_id, body) end;`,
    );
    // Who has millions of logs can build it beforehand: see docs/operations.md. Searches use the other index until its end.
    this.addSql(
      `create index if not exists "log_texts_lexemes" on "log_texts" using gin (log_lexemes("workspace_id", "body")) with (gin_pending_list_limit = 64);`,
    );
    this.addSql(`drop index "log_texts_words";`);
  }

  override down(): void | Promise<void> {
    this.addSql(
      `create index "log_texts_words" on "log_texts" using gin (log_words("workspace_id", "body")) with (gin_pending_list_limit = 64);`,
    );
    this.addSql(`drop index "log_texts_lexemes";`);
    this.addSql(`drop function log_lexemes;`);
    this.addSql(`drop function log_lexemes_cut;`);
  }
}
