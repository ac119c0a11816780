import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { piecesOf } from "../database/pieces.ts";
import { countCopied, joinOf } from "../database/requestTransaction.ts";
import { inTransaction } from "../database/transaction.ts";
import { GabbroError } from "../errors.ts";
import { createPause } from "../limits/turns.ts";
import { bytesAddedByKeys, valuesEncoder } from "./columns.ts";
import { rowBytes } from "./contents.resolvers.ts";
import { DatasetRow } from "./entities.ts";
import type { DatasetRowInput } from "./inputs.ts";
import {
  type DatasetHead,
  datasetNotFound,
  findLocked,
  nextVersion,
  omittedColumns,
  type Row,
  refuseOrphans,
  rowDecoder,
  type StoredItem,
} from "./resolvers.ts";

/** MikroORM takes quadratic time for the rows of one flush; other requests run between flushes. */
const MAX_ROWS_IN_FLUSH = 100;

/**
 * The database copies a row that is changed, and SQLite writes all copies when it commits: with 32 MB others waited for 0.3 s to read
 * and for 0.8 to 1.2 s to write.
 */
const MAX_CHANGED_BYTES = 10 * 1024 * 1024;
/** A renamed column keeps its key, so that 1 MB of rows can be stored as 150 MB: others waited for 4.4 s to write. */
const MAX_ADDED_BYTES = 16 * 1024 * 1024;

type RowToPut = DatasetRowInput & { logId?: string };

interface RowsToPut {
  workspace: string;
  parent: DatasetHead;
  inputs: RowToPut[];
}

/**
 * Adds rows, or changes those that have their keys, in one transaction; the last of equal keys wins. DATASET_NOT_FOUND when the
 * dataset is gone; BAD_INPUT when the rows to change are larger than 10 MB together, or the keys of renamed columns add more than
 * 16 MB to the rows.
 */
export const storeRows = (context: Context, rows: RowsToPut): Promise<StoredItem[]> =>
  refuseOrphans(rows.parent.slug, () =>
    inTransaction(context.em, (em) => putRows(context, em, rows), "locked rows"),
  );

async function putRows(
  context: Context,
  em: EntityManager,
  { inputs, workspace, parent: known }: RowsToPut,
): Promise<StoredItem[]> {
  if (inputs.length === 0) return [];
  const locked = await findLocked(em, known.id);
  if (!locked) throw datasetNotFound(known.slug);
  const to = { workspace, parent: locked }; // its columns may have changed since they were looked up
  const addedBytes = bytesAddedByKeys(locked);
  countAdded(
    context,
    inputs.reduce((sum, { values }) => sum + addedBytes(values), 0),
  );
  const version = await nextVersion(em, locked);
  const results: StoredItem[] = [];
  const isAlone = inputs.length === 1 && !joinOf(context.em);
  const pause = createPause();
  let changedBytes = 0;
  for (let from = 0; from < inputs.length; from += MAX_ROWS_IN_FLUSH) {
    const some = inputs.slice(from, from + MAX_ROWS_IN_FLUSH);
    const bytes = isAlone
      ? new Map<string, number>()
      : await bytesByKey(context.database.readWithin(em), { ...to, inputs: some });
    const copiedBytes = bytes.values().reduce((sum, length) => sum + length, 0);
    countCopied(context.em, copiedBytes);
    changedBytes += copiedBytes;
    if (changedBytes > MAX_CHANGED_BYTES) throw tooMuchToChange();
    const bytesOf = ({ key, values }: RowToPut) => (bytes.get(key!) ?? 0) + addedBytes(values);
    for (const { piece } of piecesOf(some, bytesOf)) {
      results.push(...(await putSome(em, { ...to, version, inputs: piece })));
      await em.flush(); // writes values as JSON twice: to store them, and to compare them later
      em.clear(); // every flush compares all rows that the EntityManager knows
      await pause();
    }
  }
  return results;
}

const tooMuchToChange = () =>
  new GabbroError(
    "BAD_INPUT",
    "The rows that have these keys are larger than 10 MB together. Send fewer rows at once.",
  );

function countAdded(context: Context, bytes: number): void {
  countCopied(context.em, bytes);
  if (bytes <= MAX_ADDED_BYTES) return;
  throw new GabbroError(
    "BAD_INPUT",
    "The columns of these rows were renamed, and each row keeps the names that they had at first, which make the rows more than 16 MB larger. Send fewer rows at once.",
  );
}

/** The lengths of the rows that have the keys of inputs: the database copies a row that is changed. */
async function bytesByKey(
  read: Database["read"],
  { workspace, parent, inputs }: RowsToPut,
): Promise<Map<string, number>> {
  const keys = inputs.flatMap(({ key }) => key ?? []);
  if (keys.length === 0) return new Map();
  const rows = await read
    .selectFrom("DatasetRow")
    .select(["key", rowBytes.as("bytes")])
    .where("dataset", "=", parent.id)
    .where("workspace", "=", workspace)
    .where("key", "in", keys)
    .execute();
  return new Map(rows.map(({ key, bytes }) => [key!, Number(bytes)]));
}

interface Put extends RowsToPut {
  version: number;
}

async function putSome(em: EntityManager, { workspace, parent, version, inputs }: Put) {
  const keys = inputs.flatMap(({ key }) => key ?? []);
  const where = { dataset: parent.id, key: { $in: keys } };
  // The texts are replaced, so they are not read: 100 rows may hold 2 GB.
  const fields = ["id", "key", "logId", "createdAt"] as const;
  const existing = keys.length === 0 ? [] : await em.find(DatasetRow, where, { fields });
  const byKey = new Map<string | null, Pick<Row, (typeof fields)[number]>>(
    existing.map((row) => [row.key, row]),
  );
  const [encode, decode] = [valuesEncoder(parent), rowDecoder(parent)];
  return inputs.map(({ values: named, ...input }) => {
    const { values, omitted } = encode(named);
    const current = input.key === null ? undefined : byKey.get(input.key);
    const row = current
      ? Object.assign(current, { ...input, values, version })
      : em.create(DatasetRow, {
          ...input,
          id: newId(),
          workspace,
          dataset: parent.id,
          logId: input.logId ?? null,
          values,
          createdAt: new Date(),
          version,
        });
    if (row.key !== null) byKey.set(row.key, row);
    return { datasetRow: decode(row), warnings: omittedColumns(omitted) };
  });
}
