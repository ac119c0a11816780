const MAX_ROWS = 200;
const MAX_CHARACTERS = 300_000;

/** Rows in batches that are small enough for one request, and for its progress to be seen. */
export function* batchesOf<Row extends { characters: number }>(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    batch.push(row);
    characters += row.characters;
    if (batch.length < MAX_ROWS && characters < MAX_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}
