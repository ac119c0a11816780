import type { LRUCache } from "lru-cache";
import { boundedByCharacters, createCache } from "../database/cache.ts";
import { inPieces, type Piece } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { GabbroError } from "../errors.ts";
import type { Prompt, PromptVersion } from "./entities.ts";
import type { NamedVersion, Selectable } from "./selection.ts";

export type KnownPrompt = Selectable & Pick<Prompt, "id" | "name" | "description">;

/** What is read of a version once it is chosen: few of the versions of a prompt are. */
type Details = Pick<PromptVersion, "model" | "variables">;
type Texts = Pick<PromptVersion, "text" | "systemText">;

const knownPrompts = createCache<KnownPrompt>();

/**
 * The prompt with that slug with the names of all its versions; null when the workspace has none. Applications ask for few
 * prompts again and again.
 */
export function knownPrompt(
  database: Database,
  workspaceId: string,
  slug: string,
): Promise<KnownPrompt | null> {
  return knownPrompts(database, { workspaceId, key: slug }, () => readPrompt(database, workspaceId, slug));
}

const findTexts = ofVersion<Texts>(["text", "systemText"]);

/** The model and the variables of a version of a prompt that is known to belong to the workspace; null when it was removed since. */
export const findDetails = ofVersion<Details>(["model", "variables"]);

/** The texts of such a version. Throws VERSION_NOT_FOUND when it was removed since. */
export async function textsOf(database: Database, workspaceId: string, versionId: string): Promise<Texts> {
  const texts = await findTexts(database, workspaceId, versionId);
  if (texts) return texts;
  throw versionRemoved();
}

/** The error for a version that was removed between two reads of a request. */
export function versionRemoved(): GabbroError {
  return new GabbroError("VERSION_NOT_FOUND", "The version has just been removed with its prompt.");
}

/** Reads columns of a version once: it never changes once made. */
function ofVersion<Content extends Partial<PromptVersion>>(columns: (keyof Content & keyof PromptVersion)[]) {
  const caches = new WeakMap<Database["orm"], LRUCache<string, Content>>();
  return async (database: Database, workspaceId: string, versionId: string): Promise<Content | null> => {
    const cache = caches.get(database.orm) ?? boundedByCharacters<Content>();
    caches.set(database.orm, cache);
    const known = cache.get(versionId);
    if (known) return known;
    const read = await database.read
      .selectFrom("PromptVersion")
      .select(columns as ("text" | "systemText" | "model" | "variables")[])
      .where("workspace", "=", workspaceId)
      .where("id", "=", versionId)
      .executeTakeFirst();
    if (!read) return null;
    cache.set(versionId, read as Content);
    return read as Content;
  };
}

async function readPrompt(
  database: Database,
  workspaceId: string,
  slug: string,
): Promise<KnownPrompt | null> {
  const { read, rows } = database;
  const [prompt] = await rows(
    read
      .selectFrom("Prompt")
      .select(["id as id", "slug as slug", "name as name", "description as description"])
      .where("workspace", "=", workspaceId)
      .where("slug", "=", slug)
      .where("deletedAt", "is", null),
  );
  if (!prompt) return null;
  const versions: NamedVersion[] = [];
  const readPiece = (piece: Piece) => readVersions(database, workspaceId, piece);
  const [tags] = await Promise.all([
    rows(
      read
        .selectFrom("PromptTag")
        .select(["label as label", "version as versionId"])
        .where("workspace", "=", workspaceId)
        .where("prompt", "=", prompt.id),
    ),
    (async () => {
      for await (const piece of inPieces(prompt.id, readPiece))
        for (const { id, version } of piece) versions.push({ id, version });
    })(),
  ]);
  return { ...prompt, versions, tags };
}

/** Ids and names of versions of prompts. */
export function readVersions({ read, rows }: Database, workspaceId: string, { parents, after, most }: Piece) {
  let query = read
    .selectFrom("PromptVersion")
    .select(["prompt as parent", "id as id", "version as version"])
    .where("workspace", "=", workspaceId)
    .where("prompt", "in", parents)
    .limit(most);
  if (parents.length === 1) query = query.orderBy("id");
  if (after !== null) query = query.where("id", ">", after);
  return rows(query);
}
