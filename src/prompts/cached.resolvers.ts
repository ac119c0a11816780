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

/** The model and the variables of a version; null when it was removed since its prompt was read. */
export const findDetails = createFind(["model", "variables"]);

/** Apart from the details: texts may have megabytes, and only serving a prompt needs them. */
const findTexts = createFind(["text", "systemText"]);

/** The texts of a version. Throws VERSION_NOT_FOUND when it was removed since its prompt was read. */
export async function getTexts(
  context: Context,
  versionId: string,
): Promise<Pick<PromptVersion, "text" | "systemText">> {
  const texts = await findTexts(context, versionId);
  if (texts) return texts;
  throw versionRemoved();
}

type Column = "text" | "systemText" | "model" | "variables";

/** Makes a cache of some columns. Versions are immutable, so what is cached never becomes stale. */
function createFind<const Columns extends readonly Column[]>(columns: Columns) {
  type Part = Pick<PromptVersion, Columns[number]>;
  const caches = new WeakMap<Database["orm"], LRUCache<string, Part>>();
  return async ({ database, em }: Context, id: string): Promise<Part | null> => {
    const cache = caches.get(database.orm) ?? boundedByCharacters<Part>();
    caches.set(database.orm, cache);
    const cached = cache.get(id);
    if (cached) return cached;
    const version = await em.findOne(PromptVersion, { id }, { ...ONCE, fields: columns });
    if (!version) return null;
    const part = Object.fromEntries(columns.map((column) => [column, version[column]])) as Part;
    cache.set(id, part);
    return part;
  };
}

/** The error for a version that was removed between two reads of a request. */
export function versionRemoved(): GabbroError {
  return new GabbroError("VERSION_NOT_FOUND", "The version has just been removed with its prompt.");
}
