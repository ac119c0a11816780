import { Migration } from "@mikro-orm/migrations";

/** The triggers that keep what rows were. */
export const revisionTriggers = [
  // A change within one version leaves no revision: nobody has seen what was before it.
  `create trigger \`dataset_rows_keep_changed\` after update on \`dataset_rows\` when new.\`version\` > old.\`version\` begin insert into \`dataset_row_revisions\` (\`id\`, \`workspace_id\`, \`dataset_id\`, \`version\`, \`until\`, \`created_at\`, \`log_id\`, \`name\`, \`key\`, \`ideal_output\`, \`metadata\`, \`values\`) values (printf('%s@%010d', old.\`id\`, new.\`version\`), old.\`workspace_id\`, old.\`dataset_id\`, old.\`version\`, new.\`version\`, old.\`created_at\`, old.\`log_id\`, old.\`name\`, old.\`key\`, old.\`ideal_output\`, old.\`metadata\`, old.\`values\`); end;`,
  // The rows of a dataset that is being deleted leave none either.
  `create trigger \`dataset_rows_keep_deleted\` after delete on \`dataset_rows\` begin insert into \`dataset_row_revisions\` (\`id\`, \`workspace_id\`, \`dataset_id\`, \`version\`, \`until\`, \`created_at\`, \`log_id\`, \`name\`, \`key\`, \`ideal_output\`, \`metadata\`, \`values\`) select printf('%s@%010d', old.\`id\`, \`datasets\`.\`version\`), old.\`workspace_id\`, old.\`dataset_id\`, old.\`version\`, \`datasets\`.\`version\`, old.\`created_at\`, old.\`log_id\`, old.\`name\`, old.\`key\`, old.\`ideal_output\`, old.\`metadata\`, old.\`values\` from \`datasets\` where \`datasets\`.\`id\` = old.\`dataset_id\` and \`datasets\`.\`version\` > old.\`version\` and \`datasets\`.\`deleted_at\` is null; end;`,
];

export class Migration20261124104902_dataset_versions extends Migration {
  override name = "Migration20261124104902_dataset_versions";

  override up(): void | Promise<void> {
    this.addSql(
      `create table \`dataset_tags\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`dataset_id\` text not null, \`label\` text not null, \`version\` integer not null, \`created_at\` datetime not null, constraint \`dataset_tags_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`dataset_tags_dataset_id_foreign\` foreign key (\`dataset_id\`) references \`datasets\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create unique index \`dataset_tags_dataset_id_workspace_id_label_unique\` on \`dataset_tags\` (\`dataset_id\`, \`workspace_id\`, \`label\`);`,
    );

    this.addSql(
      `create table \`dataset_row_revisions\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`dataset_id\` text not null, \`version\` integer not null, \`until\` integer not null, \`created_at\` datetime not null, \`log_id\` text null, \`name\` text null, \`key\` text null, \`ideal_output\` text null, \`metadata\` text null, \`values\` text not null, constraint \`dataset_row_revisions_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`dataset_row_revisions_dataset_id_foreign\` foreign key (\`dataset_id\`) references \`datasets\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create index \`dataset_row_revisions_in_order\` on \`dataset_row_revisions\` (\`dataset_id\`, \`workspace_id\`, \`id\`, \`version\`, \`until\`);`,
    );

    this.addSql(
      `create table \`dataset_columns_revisions\` (\`id\` text not null primary key, \`workspace_id\` text not null, \`dataset_id\` text not null, \`until\` integer not null, \`columns\` text not null, \`removed_columns\` text not null, constraint \`dataset_columns_revisions_workspace_id_foreign\` foreign key (\`workspace_id\`) references \`workspaces\` (\`id\`), constraint \`dataset_columns_revisions_dataset_id_foreign\` foreign key (\`dataset_id\`) references \`datasets\` (\`id\`) on delete cascade);`,
    );
    this.addSql(
      `create unique index \`dataset_columns_revisions_dataset_id_workspace_id_until_unique\` on \`dataset_columns_revisions\` (\`dataset_id\`, \`workspace_id\`, \`until\`);`,
    );

    this.addSql(`alter table \`datasets\` add column \`version\` integer not null default 1;`);
    this.addSql(`alter table \`datasets\` add column \`columns_version\` integer not null default 1;`);
    this.addSql(`alter table \`datasets\` add column \`protected_tags\` text not null default '[]';`);

    this.addSql(`drop index \`dataset_rows_dataset_id_workspace_id_id_index\`;`);
    this.addSql(`alter table \`dataset_rows\` add column \`version\` integer not null default 1;`);
    this.addSql(
      `create index \`dataset_rows_dataset_id_workspace_id_id_version_index\` on \`dataset_rows\` (\`dataset_id\`, \`workspace_id\`, \`id\`, \`version\`);`,
    );

    for (const trigger of revisionTriggers) this.addSql(trigger);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop trigger \`dataset_rows_keep_changed\`;`);
    this.addSql(`drop trigger \`dataset_rows_keep_deleted\`;`);
    this.addSql(`drop table if exists \`dataset_tags\`;`);
    this.addSql(`drop table if exists \`dataset_row_revisions\`;`);
    this.addSql(`drop table if exists \`dataset_columns_revisions\`;`);

    this.addSql(`drop index \`dataset_rows_dataset_id_workspace_id_id_version_index\`;`);
    this.addSql(`alter table \`dataset_rows\` drop column \`version\`;`);
    this.addSql(
      `create index \`dataset_rows_dataset_id_workspace_id_id_index\` on \`dataset_rows\` (\`dataset_id\`, \`workspace_id\`, \`id\`);`,
    );

    this.addSql(`alter table \`datasets\` drop column \`version\`;`);
    this.addSql(`alter table \`datasets\` drop column \`columns_version\`;`);
    this.addSql(`alter table \`datasets\` drop column \`protected_tags\`;`);
  }
}
