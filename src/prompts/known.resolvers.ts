import type { LRUCache } from "lru-cache";
import type { Database } from "../database/open.ts";
import { boundedByCharacters, remembered } from "../database/remember.ts";
import { GabbroError } from "../errors.ts";
import type { Prompt, PromptVersion } from "./entities.ts";
import type { Selectable } from "./selection.ts";

export type KnownVersion = Pick<PromptVersion, "id" | "version" | "model" | "variables">;
export type KnownPrompt = Selectable<KnownVersion> & Pick<Prompt, "id" | "name" | "description">;

type Texts = Pick<PromptVersion, "text" | "systemText">;

const knownPrompts = remembered<KnownPrompt>();

/**
 * The prompt with that slug with all its versions but their texts; null when the workspace has none. Applications ask for
 * few prompts again and again.
 */
export function knownPrompt(
  database: Database,
  workspaceId: string,
  slug: string,
): Promise<KnownPrompt | null> {
  return knownPrompts(database, { workspaceId, key: slug }, () => readPrompt(database, workspaceId, slug));
}

/** By the id of the version; it never changes once made. */
const texts = new WeakMap<Database, LRUCache<string, Texts>>();

/** The texts of a version of a prompt that is known to belong to the workspace. Throws VERSION_NOT_FOUND when it was removed since. */
export async function textsOf(database: Database, workspaceId: string, versionId: string): Promise<Texts> {
  const cache = texts.get(database) ?? boundedByCharacters<Texts>();
  texts.set(database, cache);
  const known = cache.get(versionId);
  if (known) return known;
  const read = await database.read
    .selectFrom("PromptVersion")
    .select(["text", "systemText"])
    .where("workspace", "=", workspaceId)
    .where("id", "=", versionId)
    .executeTakeFirst();
  if (!read) throw new GabbroError("VERSION_NOT_FOUND", "The version has just been removed with its prompt.");
  cache.set(versionId, read);
  return read;
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
