import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import type { Prompt, PromptVersion } from "./entities.ts";
import type { Selectable } from "./selection.ts";

export type KnownVersion = Pick<PromptVersion, "id" | "version" | "model" | "variables">;
export type KnownPrompt = Selectable<KnownVersion> & Pick<Prompt, "id" | "name" | "description">;

type Texts = Pick<PromptVersion, "text" | "systemText">;

const CACHED_CHARACTERS = 8_000_000;

interface Cache {
  /** As of which generation of the database the prompts are known. */
  generation: string;
  prompts: LRUCache<string, KnownPrompt>;
  /** Never changes once made. */
  texts: LRUCache<string, Texts>;
}

const caches = new WeakMap<Database, Cache>();

/**
 * The prompt with that slug with all its versions but their texts; null when the workspace has none. Applications ask for
 * few prompts again and again, so they are remembered until anybody changes anything.
 */
export async function knownPrompt(
  { database }: Context,
  workspaceId: string,
  slug: string,
): Promise<KnownPrompt | null> {
  const { prompts } = cacheOf(database);
  const key = `${workspaceId} ${slug}`;
  const remembered = prompts.get(key);
  if (remembered) return remembered;
  const read = await readPrompt(database, workspaceId, slug);
  // When anything was changed meanwhile, it goes where nobody looks any more.
  if (read) prompts.set(key, read);
  return read;
}

/** The texts of a version of a prompt that is known to belong to the workspace. */
export async function textsOf({ database }: Context, workspaceId: string, versionId: string): Promise<Texts> {
  const { texts } = cacheOf(database);
  const remembered = texts.get(versionId);
  if (remembered) return remembered;
  const read = await database.read
    .selectFrom("PromptVersion")
    .select(["text", "systemText"])
    .where("workspace", "=", workspaceId)
    .where("id", "=", versionId)
    .executeTakeFirstOrThrow();
  texts.set(versionId, read);
  return read;
}

function cacheOf(database: Database): Cache {
  const generation = database.generation.now();
  const known = caches.get(database);
  if (known?.generation === generation) return known;
  const cache = { generation, prompts: newCache<KnownPrompt>(), texts: known?.texts ?? newCache<Texts>() };
  caches.set(database, cache);
  return cache;
}

function newCache<Value extends object>() {
  return new LRUCache<string, Value>({
    maxSize: CACHED_CHARACTERS,
    sizeCalculation: (value) => JSON.stringify(value).length,
  });
}

async function readPrompt(
  { read, rows }: Database,
  workspaceId: string,
  slug: string,
): Promise<KnownPrompt | null> {
  const [prompt] = await rows(
    read
      .selectFrom("Prompt")
      .select(["id as id", "slug as slug", "name as name", "description as description"])
      .where("workspace", "=", workspaceId)
      .where("slug", "=", slug),
  );
  if (!prompt) return null;
  const [versions, tags] = await Promise.all([
    rows(
      read
        .selectFrom("PromptVersion")
        .select(["id as id", "version as version", "model as model", "variables as variables"])
        .where("workspace", "=", workspaceId)
        .where("prompt", "=", prompt.id)
        .orderBy("id"),
    ),
    rows(
      read
        .selectFrom("PromptTag")
        .select(["label as label", "version as versionId"])
        .where("workspace", "=", workspaceId)
        .where("prompt", "=", prompt.id),
    ),
  ]);
  return { ...prompt, versions: versions.map(parsed), tags };
}

/** These come as texts of JSON. */
function parsed({ model, variables, ...version }: KnownVersion): KnownVersion {
  const parse = (text: unknown) => JSON.parse(text as string);
  return { ...version, model: parse(model), variables: parse(variables) };
}
