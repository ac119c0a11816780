import type { Context } from "../context.ts";
import { createPacedReads } from "../database/pauses.ts";
import { quoted } from "../errors.ts";
import { findDetails, findPrompt } from "../prompts/cached.resolvers.ts";
import { selectVersion } from "../prompts/selection.ts";
import type { PricedModel } from "../usage/usage.ts";
import type { Warning } from "../warnings.ts";
import type { Log } from "./entities.ts";

/** The prompt that a log names, and what the client asked for of it. */
interface Asked {
  slug: string;
  version: string | null;
  tag: string | null;
}

/** The version of a prompt that served a call; when none did, `version` and `tag` are those that the client named. */
export interface Served {
  promptId: string | null;
  version: string | null;
  tag: string | null;
  model: PricedModel | null;
  warnings: Warning[];
}

/**
 * What becomes of a version or tag that is asked for and missing. In a log of now, the production version was served instead;
 * in one of the past, from elsewhere, it names what served there.
 */
export type MissingVersion = "production serves" | "kept";

/** Finds the version of a prompt that served a call. Warnings say what was not found. */
export async function findServed(
  context: Context,
  workspaceId: string,
  asked: Asked,
  missing: MissingVersion = "production serves",
): Promise<Served> {
  const prompt = await findPrompt(context, workspaceId, asked.slug);
  const named = { version: asked.version, tag: asked.tag };
  if (!prompt) {
    const message = `Prompt ${quoted(asked.slug)} does not exist; the log was kept without a link to a prompt.`;
    const warnings: Warning[] = [{ code: "PROMPT_NOT_FOUND", message, path: "slug" }];
    return { promptId: null, ...named, model: null, warnings };
  }
  const { version, tag, warnings } = selectVersion(prompt, asked);
  if (!version || (missing === "kept" && warnings.length > 0))
    return { promptId: prompt.id, ...named, model: null, warnings };
  const details = await findDetails(context, version.id);
  return {
    promptId: prompt.id,
    version: version.version,
    tag,
    model: details?.model ?? null,
    warnings,
  };
}

const servedColumns = ["prompt", "promptSlug", "version", "tag", "provider", "model"] as const;

/** What a stored log says of the prompt that served it. */
export type StoredServed = Pick<Log, Exclude<(typeof servedColumns)[number], "prompt">> & {
  prompt: string | null;
};

/** What those logs that are stored say of their prompts, by the ids of the logs. */
export async function readServed(
  { database }: Context,
  workspaceId: string,
  ids: string[],
): Promise<Map<string, StoredServed>> {
  if (ids.length === 0) return new Map();
  const logs = await database.read
    .selectFrom("Log")
    .select(["id", ...servedColumns])
    .where("workspace", "=", database.search.unestimated(workspaceId))
    .where("id", "in", ids)
    .execute();
  return new Map(logs.map((log) => [log.id, log]));
}

/**
 * What served a call that is stored already: the same as then, although a tag may have moved since, or the prompt may be gone.
 * A version that the client names now counts instead, if the prompt has it, and so does what is found where nothing was before.
 */
export function keepServed(asked: Asked, found: Served, stored: StoredServed): Served {
  if (asked.slug !== stored.promptSlug) return found;
  if (asked.version !== null && asked.version === found.version && found.warnings.length === 0) return found;
  const { prompt: promptId, version, tag } = stored;
  const model = stored.model === null ? null : { provider: stored.provider, model: stored.model };
  if (promptId === null && version === null)
    return { ...found, tag: found.tag ?? tag, model: found.model ?? model };
  return { promptId, version, tag, model, warnings: found.warnings };
}

export type FindServed = (asked: Asked) => Promise<Served>;

/**
 * Finds what served the calls of one request, one after another and with pauses, so that those after the first find in the cache
 * what it read. 100 logs of a trace otherwise read a prompt of 10,000 versions, or a version of 2 MB, as many times at once, which
 * takes 0.8 to 1.6 s.
 */
export function createServedFinder(
  context: Context,
  workspaceId: string,
  missing: MissingVersion = "production serves",
): FindServed {
  const read = createPacedReads(context, workspaceId);
  return (asked) => read(() => findServed(context, workspaceId, asked, missing));
}
