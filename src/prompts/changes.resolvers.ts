import type { Context } from "../context.ts";
import type { EntityManager } from "../database/open.ts";
import type { PromptChangedMessage } from "../database/pubsub.ts";
import { inTransaction } from "../database/transaction.ts";
import { type Change, recordChange } from "../workspaces/audit.resolvers.ts";
import { authenticated } from "../workspaces/resolvers.ts";

/** Records a change of the prompt `subject`, and the tag that it moved to a version, if any. */
export type RecordChange = (change: Change, moved?: Pick<PromptChangedMessage, "tag" | "version">) => void;

/**
 * Runs a change of a prompt in one transaction, like `inTransaction`. What `run` records goes into the audit log and, once
 * it is committed, to the subscribers of the prompt at all processes.
 */
export async function changePrompt<T>(
  context: Context,
  run: (em: EntityManager, record: RecordChange) => Promise<T>,
  guarding?: Parameters<typeof inTransaction>[2],
): Promise<T> {
  const { workspaceId } = authenticated(context);
  const { notifyOfPrompt, pubSub } = context.database;
  let messages: PromptChangedMessage[] = [];
  const transact = async (em: EntityManager) => {
    messages = []; // of this attempt
    const result = await run(em, (change, moved = { tag: null, version: null }) => {
      const { subject: slug, action } = change;
      if (recordChange(em, context, change)) messages.push({ slug, action, ...moved });
    });
    for (const message of messages) await notifyOfPrompt(em, workspaceId, message);
    return result;
  };
  const result = await inTransaction(context.em, transact, guarding);
  for (const message of messages) pubSub.prompts.publish(workspaceId, message);
  return result;
}
