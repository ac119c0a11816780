import { sql } from "kysely";
import type { Context } from "../context.ts";
import { createLoader } from "../database/loader.ts";
import { readInPieces } from "../database/pieces.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { bytesOfLog } from "./payloads.resolvers.ts";

const PREVIEW_CHARACTERS = 200;
/** JSON writes a character with six at most, and two of them make a surrogate pair. */
const READ_CHARACTERS = 6 * PREVIEW_CHARACTERS + 12;

interface Previews {
  input: string | null;
  output: string | null;
}

const read = createLoader<string, Previews>(async (context, ids) => {
  const { workspaceId } = authenticated(context);
  const { read: database, rows: rowsOf, search } = context.database;
  const ofLogs = (some: readonly string[]) =>
    database
      .selectFrom("Log")
      .select("id as id")
      .where("workspace", "=", search.unestimated(workspaceId))
      .where("id", "in", some);
  const lengths = await readInPieces(context, workspaceId, {
    rows: ids,
    bytesOf: () => 0,
    read: (some) => rowsOf(ofLogs(some).select(({ ref }) => bytesOfLog(ref).as("bytes"))),
  });
  const rows = await readInPieces(context, workspaceId, {
    rows: lengths,
    bytesOf: ({ bytes }) => bytes, // SQLite reads a text whole to take its beginning
    read: (some) =>
      rowsOf(
        ofLogs(some.map(({ id }) => id)).select(({ ref }) => [
          sql<string | null>`substr(${ref("input")}, 1, ${READ_CHARACTERS})`.as("input"),
          sql<string | null>`substr(${ref("output")}, 1, ${READ_CHARACTERS})`.as("output"),
        ]),
      ),
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const { input = null, output = null } = byId.get(id) ?? {};
    return { input: previewOf(input), output: previewOf(output) };
  });
});

/** The beginning of the input or the output of a log, read without the rest; null when there is none. */
export async function previewOfLog(
  context: Context,
  { id }: { id: string },
  part: keyof Previews,
): Promise<string | null> {
  return (await read(context, id))[part];
}

/** The beginning of a stored JSON value: of a text its characters, of anything else its JSON. */
function previewOf(json: string | null): string | null {
  if (json === null) return null;
  const text = json.startsWith('"') ? beginningOfText(json) : json;
  const characters = [...text];
  return characters.length <= PREVIEW_CHARACTERS
    ? text
    : `${characters.slice(0, PREVIEW_CHARACTERS - 1).join("")}…`;
}

/** The longest escape of JSON is a surrogate pair of twelve characters. */
const MAX_ESCAPE_CHARACTERS = 12;

function beginningOfText(json: string): string {
  if (json.length < READ_CHARACTERS) return JSON.parse(json) as string;
  for (let cut = 0; cut <= MAX_ESCAPE_CHARACTERS; cut++) {
    try {
      return (JSON.parse(`${json.slice(0, json.length - cut)}"`) as string).toWellFormed();
    } catch {} // it ends within an escape
  }
  return json;
}
