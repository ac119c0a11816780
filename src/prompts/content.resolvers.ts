import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Prompt, PromptVersion } from "./entities.ts";
import { tagsOf } from "./versions.resolvers.ts";

/** Everything that is kept of a prompt but ids and times. */
export interface PromptContent {
  slug: string;
  name: string;
  description: string | null;
  featureSlug: string | null;
  /** Which version each tag points to. */
  tags: ReadonlyMap<string, string>;
  protectedTags: string[];
  /** The oldest first. */
  versions: Pick<PromptVersion, "version" | "text" | "systemText" | "model" | "variables">[];
}

/** All prompts with all that is kept of them, in the order of their slugs. */
export async function promptContents(context: Context): Promise<PromptContent[]> {
  authorize(context, "read");
  const em = context.em.fork({ keepTransactionContext: true });
  const prompts = await em.find(Prompt, {}, { orderBy: { slug: "asc" } });
  return Promise.all(
    prompts.map(async ({ id, slug, name, description, featureSlug, protectedTags }) => {
      const [versions, tags] = await Promise.all([
        em.find(PromptVersion, { prompt: id }, { orderBy: { id: "asc" } }),
        tagsOf(context, id),
      ]);
      return {
        slug,
        name,
        description,
        featureSlug,
        tags: new Map(tags.map(({ label, version }) => [label, version])),
        protectedTags,
        versions: versions.map(({ version, text, systemText, model, variables }) => ({
          version,
          text,
          systemText,
          model,
          variables,
        })),
      };
    }),
  );
}
