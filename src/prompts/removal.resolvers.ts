import { LockMode } from "@mikro-orm/core";
import { sql } from "kysely";
import type { Context } from "../context.ts";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import { lengthOf } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { DELETED_SLUGS, softDeleted } from "../database/softDeleted.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { getPrompt, headOf } from "./authoring.resolvers.ts";
import { changePrompt } from "./changes.resolvers.ts";
import { Prompt, PromptVersion } from "./entities.ts";

/** Names of versions in the audit log: 10,000 of 250 characters, each escaped, would take 15 MB. */
const MAX_RECORDED_NAMES = 100;

/**
 * Deletes a prompt with its versions and tags, and returns its id; its logs stay. PROMPT_NOT_FOUND when there is none.
 * The prompt is soft-deleted, which frees its slug; `removeDeletedPrompts` removes it later, as 100,000 moves of its tags
 * take seconds.
 */
export async function deletePrompt(context: Context, { slug }: { slug: string }): Promise<string> {
  const workspace = authorize(context, "write");
  return changePrompt(context, async (em, record) => {
    await em.findOne(Prompt, { slug }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const prompt = await getPrompt(em, slug);
    const { protectedTags } = prompt;
    if (protectedTags.length > 0) authorize(context, "publish"); // as it deletes protected tags
    const versions = await em
      .createQueryBuilder(PromptVersion)
      .select("version")
      .where({ prompt: prompt.id, workspace })
      .orderBy({ id: "asc" })
      .limit(MAX_RECORDED_NAMES)
      .execute<{ version: string }[]>("all", false);
    const before = {
      ...headOf(prompt),
      protectedTags,
      versionCount: await em.count(PromptVersion, { prompt: prompt.id }),
      versions: versions.map(({ version }) => version),
    };
    record({ action: "deletePrompt", subject: slug, before, after: null });
    prompt.slug = DELETED_SLUGS + prompt.id;
    prompt.deletedAt = new Date();
    return prompt.id;
  });
}

/** Removes soft-deleted prompts in small steps, until all are gone or `signal` aborts. */
export async function removeDeletedPrompts(database: Database, signal: AbortSignal): Promise<void> {
  const { write } = database;
  for await (const { id, workspace } of softDeleted(database, "Prompt")) {
    await removeParts(database, { workspace, promptId: id }, signal);
    if (signal.aborted) return;
    await retryWhileLocked(() =>
      write.deleteFrom("Prompt").where("workspace", "=", workspace).where("id", "=", id).execute(),
    );
  }
}

const VERSION_TEXTS = ["text", "systemText", "messages", "model", "variables"];

/** The parts of a prompt, with the length of one where it may be long. */
const bytesOf = {
  PromptTagMove: sql<number>`0`,
  PromptTag: sql<number>`0`,
  PromptVersion: sql<number>`${sql.join(VERSION_TEXTS.map(lengthOf), sql` + `)}`,
};

async function removeParts(
  { read, write }: Database,
  { workspace, promptId }: { workspace: string; promptId: string },
  signal: AbortSignal,
): Promise<void> {
  for (const entity of ["PromptTagMove", "PromptTag", "PromptVersion"] as const) {
    const parts = read
      .selectFrom(entity)
      .select(["id", bytesOf[entity].as("bytes")])
      .where("workspace", "=", workspace)
      .where("prompt", "=", promptId)
      .orderBy("id");
    const removal = write.deleteFrom(entity).where("workspace", "=", workspace);
    await deleteInBatches(
      {
        find: (maxRows, after) => parts.where("id", ">", after).limit(maxRows).execute(),
        remove: (ids) => retryWhileLocked(() => removal.where("id", "in", ids).execute()),
      },
      signal,
    );
  }
}
