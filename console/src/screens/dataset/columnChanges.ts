import type { ColumnType, UpdateDatasetInput } from "../../gql/graphql.ts";

export interface Column {
  name: string;
  type: ColumnType;
}

/** A column in the dialog: one that is there, by its name before, or a new one. */
export interface ColumnDraft extends Column {
  key: number;
  before: string | null;
  isRemoved: boolean;
}

export interface ColumnChange {
  removed: Column[];
  renamed: { from: string; to: string }[];
  added: Column[];
}

export const draftsOf = (columns: readonly Column[]): ColumnDraft[] =>
  columns.map(({ name, type }, key) => ({ key, before: name, name, type, isRemoved: false }));

export function changeOf(drafts: ColumnDraft[]): ColumnChange {
  const change: ColumnChange = { removed: [], renamed: [], added: [] };
  for (const { before, name, type, isRemoved } of drafts) {
    if (before === null) change.added.push({ name, type });
    else if (isRemoved) change.removed.push({ name: before, type });
    else if (name !== before) change.renamed.push({ from: before, to: name });
  }
  return change;
}

export const isNothing = ({ removed, renamed, added }: ColumnChange): boolean =>
  removed.length + renamed.length + added.length === 0;

/** What takes a change back. Columns that were removed come back with their values, as the last ones. */
export const inverseOf = ({ removed, renamed, added }: ColumnChange): ColumnChange => ({
  removed: added,
  renamed: renamed.map(({ from, to }) => ({ from: to, to: from })),
  added: removed,
});

export const inputOf = ({ removed, renamed, added }: ColumnChange): UpdateDatasetInput => ({
  removeColumns: removed.map(({ name }) => name),
  renameColumns: renamed,
  addColumns: added,
});
