import type { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import { boundedByCharacters, createCache } from "../database/cache.ts";
import { inPieces, type Piece } from "../database/lengths.ts";
import { once } from "../database/loader.ts";
import type { Database } from "../database/open.ts";
import { GabbroError } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { jsonBytesOf } from "../limits/jsonBytes.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { type Prompt, PromptVersion } from "./entities.ts";
import type { NamedVersion, Selectable } from "./selection.ts";

/** The columns of a prompt itself. */
export const promptColumns = ["id", "slug", "name", "description", "featureSlug", "createdAt"] as const;
export type PromptHead = Pick<Prompt, (typeof promptColumns)[number]>;

export type CachedPrompt = Selectable & PromptHead;

const prompts = createCache<CachedPrompt>({ shares: true });

/**
 * The prompt with that slug and the names of all its versions; null when the workspace has none. Cached, as applications
 * read few prompts again and again.
 */
export function findPrompt(
  context: Context,
  workspaceId: string,
  slug: string,
): Promise<CachedPrompt | null> {
  return prompts(context.database, { workspaceId, key: slug }, () =>
    readPrompt(context.database, workspaceId, slug),
  );
}

/** By queries, not as entities: logs may name slugs that do not exist, and a prompt may have thousands of versions and tags. */
async function readPrompt(
  database: Database,
  workspaceId: string,
  slug: string,
): Promise<CachedPrompt | null> {
  const { read, rows } = database;
  const [prompt] = await rows(
    read
      .selectFrom("Prompt")
      .select(["id as id", "slug as slug", "name as name", "description as description"])
      .select(["featureSlug as featureSlug", "createdAt as createdAt"])
      .where("workspace", "=", workspaceId)
      .where("slug", "=", slug)
      .where("deletedAt", "is", null),
  );
  if (!prompt) return null;
  const versions: NamedVersion[] = [];
  const readingVersions = {
    read: (piece: Piece) => readVersions(database, workspaceId, piece),
    turn: () => database.turn(workspaceId),
  };
  // Before the versions: a tag that was published in between would name one that is not among them.
  const tags = await rows(
    read
      .selectFrom("PromptTag")
      .select(["label as label", "version as versionId"])
      .where("workspace", "=", workspaceId)
      .where("prompt", "=", prompt.id),
  );
  for await (const piece of inPieces(prompt.id, readingVersions))
    for (const { id, version } of piece) versions.push({ id, version });
  return { ...prompt, createdAt: new Date(prompt.createdAt), versions, tags };
}

/** The ids and names of versions of prompts. */
export function readVersions(
  { read, rows }: Database,
  workspaceId: string,
  { parents, after, limit }: Piece,
) {
  let query = read
    .selectFrom("PromptVersion")
    .select(["prompt as parent", "id as id", "version as version"])
    .where("workspace", "=", workspaceId)
    .where("prompt", "in", parents)
    .limit(limit);
  if (parents.length === 1) query = query.orderBy("id");
  if (after !== null) query = query.where("id", ">", after);
  return rows(query);
}

/** The model and the variables of a version; null when it was removed since its prompt was read. */
export const findDetails = createFind(["model", "variables"]);

/** Apart from the details: texts may have megabytes, and only serving a prompt needs them. */
const findTexts = createFind(["text", "systemText", "messages"]);

/** To count what is smaller takes longer than it is worth. */
const MIN_COUNTED_BYTES = 16 * 1024;

// Counted once: it takes a millisecond for each megabyte.
const bytesOf = once((part: object) => jsonSize(part, Number.POSITIVE_INFINITY, { lengthOf: jsonBytesOf }));

/** Takes what is cached, as JSON, off the budget of the answer, also where the answer repeats none of it. */
export function spend<Part extends object>(context: Context, part: Part): Part {
  const bytes = bytesOf(part);
  if (bytes >= MIN_COUNTED_BYTES) spendAnswerBytes(context, bytes);
  return part;
}

/** The texts and the messages of a version. Throws VERSION_NOT_FOUND when it was removed since its prompt was read. */
export async function getTexts(
  context: Context,
  versionId: string,
): Promise<Pick<PromptVersion, "text" | "systemText" | "messages">> {
  const texts = await findTexts(context, versionId);
  if (texts) return spend(context, texts);
  throw versionRemoved();
}

/** The model and the variables of a version for an answer; null when it was removed since its prompt was read. */
export async function detailsFor(
  context: Context,
  versionId: string,
): Promise<Pick<PromptVersion, "model" | "variables"> | null> {
  const details = await findDetails(context, versionId);
  return details && spend(context, details);
}

type Column = "text" | "systemText" | "messages" | "model" | "variables";

/** Makes a cache of columns of versions, which are immutable. Its callers know that the version is of their workspace. */
function createFind<const Columns extends readonly Column[]>(columns: Columns) {
  type Part = Pick<PromptVersion, Columns[number]>;
  const caches = new WeakMap<Database["orm"], LRUCache<string, Part>>();
  return async (context: Context, id: string): Promise<Part | null> => {
    const { orm } = context.database;
    const cache = caches.get(orm) ?? boundedByCharacters<Part>();
    caches.set(orm, cache);
    const cached = cache.get(id);
    if (cached) return cached; // before the unit of work is created, which a hit does not need
    const options = { disableIdentityMap: true, fields: columns } as const;
    const version = await context.em.findOne(PromptVersion, { id }, options);
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
