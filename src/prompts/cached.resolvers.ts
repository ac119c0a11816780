import type { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import { boundedByCharacters, createCache } from "../database/cache.ts";
import { inPieces, type Piece } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { GabbroError } from "../errors.ts";
import { Prompt, PromptTag, PromptVersion } from "./entities.ts";
import type { NamedVersion, Selectable } from "./selection.ts";

export type CachedPrompt = Selectable & Pick<Prompt, "id" | "name" | "description">;

const prompts = createCache<CachedPrompt>();

/**
 * The prompt with that slug and the names of all its versions; null when the workspace has none. Cached, as applications
 * read few prompts again and again.
 */
export function findPrompt(
  context: Context,
  workspaceId: string,
  slug: string,
): Promise<CachedPrompt | null> {
  return prompts(context.database, { workspaceId, key: slug }, () => readPrompt(context, workspaceId, slug));
}

/** For entities that are copied into a cache, which the unit of work need not hold. */
const ONCE = { disableIdentityMap: true } as const;

async function readPrompt(
  { database, em }: Context,
  workspaceId: string,
  slug: string,
): Promise<CachedPrompt | null> {
  const prompt = await em.findOne(Prompt, { slug }, { ...ONCE, fields: ["slug", "name", "description"] });
  if (!prompt) return null;
  const { id, name, description } = prompt;
  const versions: NamedVersion[] = [];
  // Not as a collection: making entities of thousands of versions would block other requests.
  const readPiece = (piece: Piece) => readVersions(database, workspaceId, piece);
  const [tags] = await Promise.all([
    em.find(PromptTag, { prompt: id }, { ...ONCE, fields: ["label", "version"] }),
    (async () => {
      for await (const piece of inPieces(id, readPiece))
        for (const { id, version } of piece) versions.push({ id, version });
    })(),
  ]);
  return {
    ...{ id, slug, name, description, versions },
    tags: tags.map(({ label, version }) => ({ label, versionId: version.id })),
  };
}

/** The ids and names of versions of prompts. */
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

/** The content of a version, which is read for selected versions only. */
export type VersionContent = Pick<PromptVersion, "text" | "systemText" | "model" | "variables">;

/** Versions are immutable, so their cached contents never become stale. */
const contents = new WeakMap<Database["orm"], LRUCache<string, VersionContent>>();

/** The content of a version; null when it was removed since its prompt was read. */
export async function findContent(
  { database, em }: Context,
  versionId: string,
): Promise<VersionContent | null> {
  const cache = contents.get(database.orm) ?? boundedByCharacters<VersionContent>();
  contents.set(database.orm, cache);
  const cached = cache.get(versionId);
  if (cached) return cached;
  const version = await em.findOne(PromptVersion, { id: versionId }, ONCE);
  if (!version) return null;
  const { text, systemText, model, variables } = version;
  const content = { text, systemText, model, variables };
  cache.set(versionId, content);
  return content;
}

/** Like `findContent`, but throws VERSION_NOT_FOUND. */
export async function getContent(context: Context, versionId: string): Promise<VersionContent> {
  const content = await findContent(context, versionId);
  if (content) return content;
  throw versionRemoved();
}

/** The error for a version that was removed between two reads of a request. */
export function versionRemoved(): GabbroError {
  return new GabbroError("VERSION_NOT_FOUND", "The version has just been removed with its prompt.");
}
