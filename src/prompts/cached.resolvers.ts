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
 * The prompt with that slug with the names of all its versions; null when the workspace has none. Applications ask for few
 * prompts again and again.
 */
export function findPrompt(
  context: Context,
  workspaceId: string,
  slug: string,
): Promise<CachedPrompt | null> {
  return prompts(context.database, { workspaceId, key: slug }, () => readPrompt(context, workspaceId, slug));
}

/** Entities that are copied into a cache: the unit of work has no use for them. */
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
  // Not as a collection of the prompt: it may have thousands, and nobody else is served while they become entities.
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

/** What is read of a version once it is chosen: few of the versions of a prompt are. */
export type VersionContent = Pick<PromptVersion, "text" | "systemText" | "model" | "variables">;

/** Versions never change once made, so what is cached of them stays right. */
const contents = new WeakMap<Database["orm"], LRUCache<string, VersionContent>>();

/** The content of a version of a prompt that was found; null when it was removed since. */
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

/** The same. Throws VERSION_NOT_FOUND when it was removed since. */
export async function getContent(context: Context, versionId: string): Promise<VersionContent> {
  const content = await findContent(context, versionId);
  if (content) return content;
  throw versionRemoved();
}

/** The error for a version that was removed between two reads of a request. */
export function versionRemoved(): GabbroError {
  return new GabbroError("VERSION_NOT_FOUND", "The version has just been removed with its prompt.");
}
