import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { isIn, walkEntries } from "./entries.resolvers.ts";
import { datasetTags } from "./tags.resolvers.ts";
import type { DatasetState } from "./versions.resolvers.ts";

/** A version of a dataset, and what it changed. */
export interface DatasetVersion {
  version: number;
  tags: string[];
  rowCount: number;
  addedRows: number;
  /** Rows that were stored anew, also with the content that they had. */
  changedRows: number;
  removedRows: number;
  columnsChanged: boolean;
}

/** The newest versions of a dataset, the newest first. Reads the indexes of all of its rows and of what they were. */
export async function newestVersions(
  context: Context,
  { id, version: newest }: DatasetState,
  limit: number,
): Promise<DatasetVersion[]> {
  const before = Math.max(0, newest - limit);
  const versions = Array.from({ length: newest - before }, (_, at) => emptyVersion(before + 1 + at));
  const at = (version: number) => versions[version - before - 1];
  const wasThere = isIn(before);
  let rowCount = 0;
  for await (const entries of walkEntries(context, { datasetId: id, after: null, isWanted: () => true }))
    for (const ofRow of Map.groupBy(entries, ({ row }) => row).values()) {
      if (ofRow.some(wasThere)) rowCount += 1;
      const stored = new Set(ofRow.map(({ version }) => version));
      const replaced = new Set(ofRow.flatMap(({ until }) => until ?? []));
      for (const version of stored) count(at(version), replaced.has(version) ? "changedRows" : "addedRows");
      for (const version of replaced.difference(stored)) count(at(version), "removedRows");
    }
  for (const version of versions) {
    rowCount += version.addedRows - version.removedRows;
    version.rowCount = rowCount;
  }
  for (const version of await columnChangesSince(context, id, before)) {
    const changed = at(version);
    if (changed) changed.columnsChanged = true;
  }
  for (const { label, version } of await datasetTags(context, id)) at(version)?.tags.push(label);
  return versions.toReversed();
}

const emptyVersion = (version: number): DatasetVersion => ({
  version,
  tags: [],
  rowCount: 0,
  addedRows: 0,
  changedRows: 0,
  removedRows: 0,
  columnsChanged: false,
});

function count(version: DatasetVersion | undefined, what: "addedRows" | "changedRows" | "removedRows"): void {
  if (version) version[what] += 1;
}

/** The versions after one that brought other columns. */
async function columnChangesSince(context: Context, datasetId: string, version: number): Promise<number[]> {
  const revisions = await context.database.read
    .selectFrom("DatasetColumnsRevision")
    .select("until")
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", datasetId)
    .where("until", ">", version)
    .execute();
  return revisions.map(({ until }) => until);
}
