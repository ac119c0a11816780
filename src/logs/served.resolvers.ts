import type { Context } from "../context.ts";
import { createPacedReads } from "../database/pauses.ts";
import { quoted } from "../errors.ts";
import { findDetails, findPrompt } from "../prompts/cached.resolvers.ts";
import { selectVersion } from "../prompts/selection.ts";
import type { PricedModel } from "../usage/usage.ts";
import type { Warning } from "../warnings.ts";

/** The prompt that a log names, and what the client asked for of it. */
interface Asked {
  slug: string;
  version: string | null;
  tag: string | null;
}

/** The version of a prompt that served a call; everything is null when the prompt does not exist. */
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
  if (!prompt) {
    const message = `Prompt ${quoted(asked.slug)} does not exist; the log was kept without a link to a prompt.`;
    const warnings: Warning[] = [{ code: "PROMPT_NOT_FOUND", message, path: "slug" }];
    return { promptId: null, version: null, tag: null, model: null, warnings };
  }
  const { version, tag, warnings } = selectVersion(prompt, asked);
  if (missing === "kept" && warnings.length > 0)
    return { promptId: prompt.id, version: null, tag: null, model: null, warnings };
  const details = version && (await findDetails(context, version.id));
  return {
    promptId: prompt.id,
    version: version?.version ?? null,
    tag,
    model: details?.model ?? null,
    warnings,
  };
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
