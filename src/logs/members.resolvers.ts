import { type Expression, type SqlBool, sql } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf } from "../database/lengths.ts";
import { MAX_PIECE_BYTES, readInPieces } from "../database/pieces.ts";
import type { Search } from "../database/search.ts";
import type { LogFilter } from "./filter.inputs.ts";
import type { LogBuilder, logsIn } from "./walk.resolvers.ts";

/** What SQLite reads of a log for its metadata: all that stands before it as well. */
const bytesToMetadata = sql<number>`${sql.join(
  ["statusMessage", "aggregateUsage", "evaluators", "metadata"].map(lengthOf),
  sql` + `,
)}`;

/** The most that one turn looks through: 4 MB of the smallest members took 0.2 to 0.3 s. */
const MAX_MEMBER_BYTES = MAX_PIECE_BYTES / 4;

type Filter = Pick<Partial<LogFilter>, "metadata">;

/** The conditions of a filter on a log's metadata. */
export function membersOf({ metadata }: Filter, search: Search) {
  if (!metadata?.length) return [];
  return [({ ref }: LogBuilder): Expression<SqlBool> => search.hasMembers(ref("Log.metadata"), metadata)];
}

/** Whether this process would have to parse more metadata than fits into one turn of the event loop. */
export async function hasHeavyMetadata(
  { database }: Context,
  { metadata }: Filter,
  logs: ReturnType<typeof logsIn>,
): Promise<boolean> {
  if (!metadata?.length || database.search.isServer) return false;
  const [all] = await database.rows(
    logs.select(({ fn }) => fn.sum<number | null>(bytesToMetadata).as("bytes")),
  );
  return Number(all?.bytes ?? 0) > MAX_MEMBER_BYTES;
}

/** The logs whose metadata has the members of a filter, examined in pieces. */
export async function havingMembers<Match extends { id: string }>(
  context: Context,
  workspaceId: string,
  { filter, logs }: { filter: Filter; logs: Match[] },
): Promise<Match[]> {
  const { database } = context;
  const inWorkspace = database.read
    .selectFrom("Log")
    .select("id as id")
    .where("workspace", "=", database.search.unestimated(workspaceId));
  const lengths = await readInPieces(context, workspaceId, {
    rows: logs.map(({ id }) => id),
    bytesOf: () => 0,
    read: (ids) => database.rows(inWorkspace.select(bytesToMetadata.as("bytes")).where("id", "in", ids)),
  });
  const conditions = membersOf(filter, database.search);
  const matches = await readInPieces(context, workspaceId, {
    rows: lengths,
    bytesOf: ({ bytes }) => bytes,
    maxBytes: MAX_MEMBER_BYTES,
    read: (rows) => {
      const ids = rows.map(({ id }) => id);
      const ofRows = inWorkspace.where("id", "in", ids);
      return database.rows(conditions.reduce((query, condition) => query.where(condition), ofRows));
    },
  });
  const ids = new Set(matches.map(({ id }) => id));
  return logs.filter(({ id }) => ids.has(id));
}
