import { Repeater } from "@graphql-yoga/subscription";
import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import { createSharedReads } from "../database/sharedReads.ts";
import { GabbroError } from "../errors.ts";
import { etagOf } from "../etag.ts";
import { newAnswerBudget } from "../limits/answerBudget.ts";
import { mayStillRead, subscriberOf } from "../workspaces/subscribers.resolvers.ts";
import { findPrompt } from "./cached.resolvers.ts";
import { prompt } from "./resolvers.ts";
import { selectVersion } from "./selection.ts";
import { servedAnswer } from "./served.resolvers.ts";

/** A change of a prompt, or its present state. */
export interface PromptChange {
  /** The operation that changed it, as in the audit log; null when this is the present state. */
  action: string | null;
  /** The tag that was moved, `latest` for a new version; of the present state that by which the prompt serves. */
  tag: string | null;
  /** The version that the tag points to now. */
  version: string | null;
  /** The ETag that `GET /prompts/{slug}` has now; null when no version serves. */
  etag: string | null;
}

const DELETED: PromptChange = { action: "deletePrompt", tag: null, version: null, etag: null };

/**
 * The present state of a prompt, then each change from now on, after its commit. Where changes may have been missed, such as
 * when the database was restarted, and where the subscriber is too slow for them, the present state follows again. Ends when
 * the prompt is deleted, within a second of the token's end, when the service closes, and after an hour. PROMPT_NOT_FOUND when
 * the workspace has no such prompt.
 */
export async function promptChanged(
  context: Context,
  { slug }: { slug: string },
): Promise<Repeater<PromptChange>> {
  const { id } = await prompt(context, { slug });
  const subscriber = subscriberOf(context);
  const { pubSub, turn } = context.database;
  const messages = pubSub.prompts.listen(subscriber, (message) => message === null || message.slug === slug);
  return new Repeater<PromptChange>(async (push, stop) => {
    void stop.then(() => messages.return(undefined));
    let last: string | undefined;
    for await (const message of messages) {
      await turn(subscriber.workspaceId); // a lost connection makes all subscribers read at once
      if (!(await mayStillRead(context))) break;
      context.answerBudget = newAnswerBudget(); // the states of an hour have more than one answer may
      const state = await sharedState(context, subscriber.workspaceId, slug);
      await turn(subscriber.workspaceId); // all who shared it go on at once
      if (state?.id !== id) {
        await push(DELETED);
        break;
      }
      if (message === null && state.whole === last) continue;
      last = state.whole;
      const { action, tag, version } = message ?? { action: null, ...state };
      await push({ action, tag, version, etag: state.etag });
    }
    stop();
  });
}

interface State extends Pick<PromptChange, "tag" | "version" | "etag"> {
  id: string;
  /** A hash of the whole prompt. */
  whole: string;
}

const MAX_SHARED_STATES = 100;
const SHARED_MS = 2_000;

const sharedStates = new WeakMap<Database["orm"], ReturnType<typeof newSharedStates>>();

const newSharedStates = () => ({
  last: new LRUCache<string, { generation: string | null; state: State | null }>({
    max: MAX_SHARED_STATES,
    ttl: SHARED_MS,
    ttlAutopurge: true,
  }),
  read: createSharedReads<State | null>(),
});

/** Reads the state of a prompt once for all its subscribers, until anything may have changed. */
async function sharedState(context: Context, workspaceId: string, slug: string): Promise<State | null> {
  const { orm, generation } = context.database;
  const { last, read } = sharedStates.get(orm) ?? newSharedStates();
  sharedStates.set(orm, { last, read });
  const key = `${workspaceId} ${slug}`;
  const cached = last.get(key);
  if (cached?.generation === generation.heard()) return cached.state;
  return read(key, {
    now: generation.heard,
    read: async (generation) => {
      const state = await readState(context, workspaceId, slug);
      last.set(key, { generation, state });
      return state;
    },
  });
}

async function readState(context: Context, workspaceId: string, slug: string): Promise<State | null> {
  const found = await findPrompt(context, workspaceId, slug);
  if (!found) return null;
  const { versions, tags, ...head } = found;
  const { version, tag } = selectVersion(found, {});
  const answer = version && (await servedUnlessRemoved(context, slug));
  if (answer === undefined) return null;
  const etag = answer && etagOf(JSON.stringify(answer));
  const moved = tags.map(({ label, versionId }) => `${label} ${versionId}`).toSorted();
  const whole = etagOf(JSON.stringify([head, moved, versions.length, etag])); // versions never change
  return { id: found.id, tag, version: version?.version ?? null, etag, whole };
}

/** Undefined when the prompt has been deleted since it was found. */
async function servedUnlessRemoved(context: Context, slug: string) {
  try {
    return await servedAnswer(context, { slug });
  } catch (error) {
    const isRemoved = error instanceof GabbroError && REMOVED.has(error.code);
    if (isRemoved) return undefined;
    throw error;
  }
}

const REMOVED = new Set(["PROMPT_NOT_FOUND", "VERSION_NOT_FOUND"]);
