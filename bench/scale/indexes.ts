import pg from "pg";

/** How something is dropped, and made again. */
type Kept = { table: string; drop: string; make: string }[];

/** What ties these tables together, keys first. */
export async function keptConstraints(client: pg.Client, tables: string[]): Promise<Kept> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
     where conrelid = any(cast($1 as regclass[])) and contype in ('p', 'f') order by contype desc, conname`,
    [tables],
  );
  return rows.map(({ table, name, definition }) => ({
    table,
    drop: `alter table ${table} drop constraint "${name}"`,
    make: `alter table ${table} add constraint "${name}" ${definition}`,
  }));
}

/** The indexes of these tables but those of keys. */
export async function keptIndexes(client: pg.Client, tables: string[]): Promise<Kept> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select indrelid::regclass::text as table, indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
     from pg_index where indrelid = any(cast($1 as regclass[]))
     and not exists (select 1 from pg_constraint where conindid = indexrelid)`,
    [tables],
  );
  return rows.map(({ table, name, definition }) => ({
    table,
    drop: `drop index ${name}`,
    make: definition,
  }));
}

/** Runs statements one after the other on a connection of their own. */
export async function runAll(url: string, statements: { make: string }[], say: (words: string) => void) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set maintenance_work_mem = '1GB'");
  await client.query("set max_parallel_maintenance_workers = 1");
  for (const { make } of statements) {
    const began = performance.now();
    await client.query(make);
    say(`${Math.round((performance.now() - began) / 100) / 10} s: ${make.slice(0, 100)}`);
  }
  await client.end();
}
