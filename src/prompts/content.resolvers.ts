import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Prompt, PromptVersion } from "./entities.ts";
import { tagsOf } from "./versions.resolvers.ts";

/** A prompt with its tags and versions, without ids and times. */
export interface PromptContent {
  slug: string;
  name: string;
  description: string | null;
  featureSlug: string | null;
  /** The version that each tag points to. */
  tags: ReadonlyMap<string, string>;
  protectedTags: string[];
  /** The oldest first. */
  versions: Pick<PromptVersion, "version" | "text" | "systemText" | "messages" | "model" | "variables">[];
}

/** All prompts with their tags and versions, in the order of their slugs. */
export async function promptContents(context: Context): Promise<PromptContent[]> {
  authorize(context, "read");
  const em = context.em.fork({ keepTransactionContext: true });
  const prompts = await em.find(Prompt, {}, { orderBy: { slug: "asc" } });
  return Promise.all(
    prompts.map(async ({ id, slug, name, description, featureSlug, protectedTags }) => {
      // Before the versions: a tag that was published in between would name one that is not among them.
      const tags = await tagsOf(context, id);
      const versions = await em.find(PromptVersion, { prompt: id }, { orderBy: { id: "asc" } });
      return {
        slug,
        name,
        description,
        featureSlug,
        tags: new Map(tags.map(({ label, version }) => [label, version])),
        protectedTags,
        versions: versions.map(({ version, text, systemText, messages, model, variables }) => ({
          version,
          text,
          systemText,
          messages,
          model,
          variables,
        })),
      };
    }),
  );
}
