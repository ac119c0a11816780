import type { Expression, SqlBool } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf } from "../database/lengths.ts";
import { MAX_PIECE_BYTES, readInPieces } from "../database/pieces.ts";
import type { Search } from "../database/search.ts";
import type { LogFilter } from "./listing.inputs.ts";
import type { LogBuilder, logsIn } from "./walk.resolvers.ts";

type Filter = Pick<Partial<LogFilter>, "metadata">;

/** What a filter asks of the metadata of a log. */
export function membersOf({ metadata }: Filter, search: Search) {
  return (metadata ?? []).map(
    (member) =>
      ({ ref }: LogBuilder): Expression<SqlBool> =>
        search.hasMember(ref("Log.metadata"), member),
  );
}

/** Whether a filter has this process look into more metadata than one turn of the event loop may take. */
export async function hasHeavyMetadata(
  { database }: Context,
  { metadata }: Filter,
  logs: ReturnType<typeof logsIn>,
): Promise<boolean> {
  if (!metadata?.length || database.search.isServer) return false;
  const [all] = await database.rows(
    logs.select(({ fn, ref }) => fn.sum<number | null>(lengthOf(ref("metadata"))).as("bytes")),
  );
  return Number(all?.bytes ?? 0) > MAX_PIECE_BYTES;
}

/** Those of some logs whose metadata has the members of a filter, looked at in pieces. */
export async function havingMembers<Found extends { id: string }>(
  context: Context,
  workspaceId: string,
  { filter, logs }: { filter: Filter; logs: Found[] },
): Promise<Found[]> {
  const { database } = context;
  const ofWorkspace = database.read.selectFrom("Log").select("id as id").where("workspace", "=", workspaceId);
  const lengths = await readInPieces(context, workspaceId, {
    rows: logs.map(({ id }) => id),
    bytesOf: () => 0,
    read: (ids) =>
      database.rows(
        ofWorkspace.select(({ ref }) => lengthOf(ref("metadata")).as("bytes")).where("id", "in", ids),
      ),
  });
  const having = await readInPieces(context, workspaceId, {
    rows: lengths,
    bytesOf: ({ bytes }) => bytes,
    read: (some) => {
      let query = ofWorkspace.where(
        "id",
        "in",
        some.map(({ id }) => id),
      );
      for (const member of membersOf(filter, database.search)) query = query.where(member);
      return database.rows(query);
    },
  });
  const ids = new Set(having.map(({ id }) => id));
  return logs.filter(({ id }) => ids.has(id));
}
