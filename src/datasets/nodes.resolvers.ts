import { sql } from "kysely";
import type { Context } from "../context.ts";
import { bytesOf, inTurn, lengthOf, readByLength } from "../database/lengths.ts";
import { createLoader } from "../database/loader.ts";
import { runWithPauses } from "../database/pauses.ts";
import { searchEach } from "../database/searchEach.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { ROW_COLUMNS, readEntries, type StoredRow } from "./contents.resolvers.ts";
import { afterRevisionsOf, type Entry, isIn, revisionId } from "./entries.resolvers.ts";
import { rowParser } from "./parsing.ts";
import type { DatasetHead, Row } from "./resolvers.ts";
import { asOf, type DatasetState, stateColumns } from "./versions.resolvers.ts";

/** The dataset with that id, without its rows; null when the workspace has none. */
export const findDataset: (context: Context, id: string) => Promise<DatasetState | null> = createLoader(
  async (context, all) => {
    const datasets = (ids: string[]) =>
      context.database.read
        .selectFrom("Dataset")
        .where("workspace", "=", authorize(context, "read"))
        .where("deletedAt", "is", null)
        .where("id", "in", ids);
    const heads = await readByLength(context, all, {
      measure: (ids) =>
        datasets(ids)
          .select(["id", sql<number>`${lengthOf("columns")} + ${lengthOf("removedColumns")}`.as("bytes")])
          .execute(),
      read: (ids) => datasets(ids).select(stateColumns).execute(),
    });
    return all.map((id) => heads.get(id) ?? null);
  },
);

/** The dataset with that id as it was in a version; null when the workspace has none, or it has no such version. */
export async function findDatasetAt(
  context: Context,
  { id, version }: { id: string; version: number },
): Promise<DatasetHead | null> {
  const state = await findDataset(context, id);
  return state && version <= state.version ? asOf(context, state, version) : null;
}

/** The row with that id, of whichever dataset; null when the workspace has none. */
export const findDatasetRow = (context: Context, id: string): Promise<Row | null> => findRow(context, id);

/** The row with that id as it was in a version of its dataset; null when it was not there. */
export const findDatasetRowAt = (
  context: Context,
  { id, version }: { id: string; version: number },
): Promise<Row | null> => findRow(context, `${id}@${version}`);

type Located = Entry & { dataset: string };

/** Rows by their ids, or as they were, by their ids, @ and a version of their dataset. */
const findRow: (context: Context, key: string) => Promise<Row | null> = createLoader(
  async (context, keys) => {
    const located = await locate(context, keys);
    const [contents, parents] = await Promise.all([
      readAll(context, [...located.values()]),
      Promise.all(keys.map((key) => parentOf(context, key, located.get(key)))),
    ]);
    const found = keys.map((key, at) => ({ content: contents.get(located.get(key)!), parent: parents[at] }));
    return runWithPauses(context, authorize(context, "read"), toRows(context, found));
  },
);

interface Found {
  content: StoredRow | undefined;
  parent: DatasetHead | null | undefined;
}

function* toRows(context: Context, found: Found[]): Generator<void, (Row | null)[]> {
  const rows: (Row | null)[] = [];
  const parsed = new Set<StoredRow>();
  for (const { content, parent } of found) {
    // Reading it took its bytes off the budget once: 55 versions of a row of 9 MB ended a process with a heap of 512 MB.
    if (content && parsed.has(content)) spendAnswerBytes(context, bytesOf([content]));
    if (content) parsed.add(content);
    // A copy, as the parser changes it, and several keys may have the same content.
    rows.push(content && parent ? rowParser(context, parent)({ ...content }).row : null);
    yield;
  }
  return rows;
}

async function parentOf(
  context: Context,
  key: string,
  entry: Located | undefined,
): Promise<DatasetHead | null> {
  if (!entry) return null;
  const version = key.split("@")[1];
  const id = entry.dataset;
  return version === undefined
    ? findDataset(context, id)
    : findDatasetAt(context, { id, version: Number(version) });
}

/** Where the rows of these keys are stored; a key that is not there is not among them. */
async function locate(context: Context, keys: readonly string[]): Promise<Map<string, Located>> {
  const ids = [...new Set(keys.map((key) => key.split("@")[0]!))];
  const query = context.database.read
    .selectFrom("DatasetRow")
    .select(["id as row", "dataset as dataset", "version as version"])
    .where("workspace", "=", authorize(context, "read"))
    .where("id", "in", ids);
  const rows = await inTurn(context, () => context.database.rows(query));
  const current = new Map(
    rows.map((row): [string, Located] => [row.row, { ...row, version: Number(row.version), until: null }]),
  );
  const located = new Map<string, Located>();
  const others: string[] = [];
  for (const key of keys) {
    const [id, version] = key.split("@") as [string, string | undefined];
    const entry = current.get(id);
    if (entry && (version === undefined || isIn(Number(version))(entry))) located.set(key, entry);
    else if (version !== undefined) others.push(key);
  }
  for (const [key, entry] of await findRevisions(context, others)) located.set(key, entry);
  return located;
}

async function readAll(context: Context, entries: Located[]): Promise<Map<Entry, StoredRow>> {
  const contents = new Map<Entry, StoredRow>();
  const spend = (bytes: number) => spendAnswerBytes(context, bytes);
  const distinct = [...new Set(entries)];
  for await (const piece of readEntries(context, distinct, { columns: ROW_COLUMNS, spend }))
    for (const [entry, content] of piece) contents.set(entry, content);
  return contents;
}

/** The revisions that rows held in a version of their dataset, with one search of an index for each. */
async function findRevisions(context: Context, keys: string[]): Promise<[string, Located][]> {
  const found: [string, Located][] = [];
  const revisions = await searchEach(context, keys, (key) => revisionQuery(context, key));
  for (const { key, parent: dataset, ...entry } of revisions) {
    const located = { ...entry, dataset, version: Number(entry.version), until: Number(entry.until) };
    if (isIn(Number(key.split("@")[1]))(located)) found.push([key, located]);
  }
  return found;
}

function revisionQuery(context: Context, key: string) {
  const [row, version] = key.split("@") as [string, string];
  const { read } = context.database;
  const next = read
    .selectFrom("DatasetRowRevision")
    .select(["id as id", "dataset as parent", "version as version", "until as until"])
    .where("workspace", "=", authorize(context, "read"))
    .where("id", ">", revisionId({ row, until: Number(version) }))
    .where("id", "<", afterRevisionsOf(row))
    .orderBy("id")
    .limit(1);
  const text = (value: string) => sql<string>`cast(${value} as text)`;
  return read
    .selectFrom(next.as("next"))
    .select([
      text(key).as("key"),
      text(row).as("row"),
      "parent as parent",
      "version as version",
      "until as until",
    ]);
}
