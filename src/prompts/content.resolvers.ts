import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Prompt, type PromptVersion } from "./entities.ts";
import { tagsOf, versionsOf } from "./reading.resolvers.ts";

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
  const prompts = await context.em
    .fork({ keepTransactionContext: true })
    .find(Prompt, {}, { orderBy: { slug: "asc" } });
  return Promise.all(
    prompts.map(async ({ id, slug, name, description, featureSlug, protectedTags }) => {
      const [versions, tags] = await Promise.all([versionsOf(context, id), tagsOf(context, id)]);
      const nameOf = new Map(versions.map((version) => [version.id, version.version]));
      return {
        slug,
        name,
        description,
        featureSlug,
        tags: new Map(tags.map((tag) => [tag.label, nameOf.get(tag.version.id)!])),
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
