import { LockMode } from "@mikro-orm/core";
import type { Context } from "../context.ts";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import type { EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { getPrompt, headOf } from "./authoring.resolvers.ts";
import { Prompt, PromptVersion } from "./entities.ts";

/** Removes a prompt with its versions and tags, and gives its slug; its logs stay. PROMPT_NOT_FOUND when there is none. */
export async function deletePrompt(context: Context, { slug }: { slug: string }): Promise<string> {
  const workspace = authorize(context, "write");
  await inTransaction(context.em, async (em) => {
    // Before its parts: who publishes holds the prompt first, too, and both would wait for each other.
    await em.findOne(Prompt, { slug }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const prompt = await getPrompt(em, slug);
    const { protectedTags } = prompt;
    if (protectedTags.length > 0) authorize(context, "publish"); // its protected tags go with it
    const versions = await em
      .createQueryBuilder(PromptVersion)
      .select("version")
      .where({ prompt: prompt.id, workspace })
      .orderBy({ id: "asc" })
      .execute<{ version: string }[]>("all", false);
    const before = { ...headOf(prompt), protectedTags, versions: versions.map(({ version }) => version) };
    recordChange(em, context, { action: "deletePrompt", subject: slug, before, after: null });
    await deleteParts(context, em, { workspace, promptId: prompt.id });
    em.remove(prompt);
  });
  return slug;
}

/** Removes what belongs to a prompt, some at a time: 10,000 versions in one statement take half a second. */
async function deleteParts(
  context: Context,
  em: EntityManager,
  { workspace, promptId }: { workspace: string; promptId: string },
): Promise<void> {
  const within = context.database.readWithin(em);
  for (const entity of ["PromptTagMove", "PromptTag", "PromptVersion"] as const) {
    const parts = within
      .selectFrom(entity)
      .select("id")
      .where("workspace", "=", workspace)
      .where("prompt", "=", promptId)
      .orderBy("id");
    const removal = within.deleteFrom(entity).where("workspace", "=", workspace);
    await deleteInBatches({
      find: (most, after) => {
        checkDeadline(context);
        return parts.where("id", ">", after).limit(most).execute();
      },
      remove: (ids) => removal.where("id", "in", ids).execute(),
    });
  }
}
