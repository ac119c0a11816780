import { Repeater } from "@graphql-yoga/subscription";
import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import { etagOf } from "../etag.ts";
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
 * when the database was restarted, the present state follows again. Ends when the prompt is deleted, within a second of the
 * token's end, when the service closes, after an hour, and when the subscriber falls too far behind. PROMPT_NOT_FOUND when
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
      const state = await sharedState(context, subscriber.workspaceId, slug);
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

const sharedStates = new WeakMap<Database["orm"], LRUCache<string, Promise<State | null>>>();

/** Reads the state of a prompt once for all its subscribers, until anything may have changed. */
function sharedState(context: Context, workspaceId: string, slug: string): Promise<State | null> {
  const { orm, generation } = context.database;
  const cache = sharedStates.get(orm) ?? newCache();
  sharedStates.set(orm, cache);
  const key = `${generation.heard()} ${workspaceId} ${slug}`;
  const cached = cache.get(key);
  if (cached) return cached;
  const read = readState(context, workspaceId, slug);
  read.catch(() => cache.delete(key));
  cache.set(key, read);
  return read;
}

const newCache = () =>
  new LRUCache<string, Promise<State | null>>({
    max: MAX_SHARED_STATES,
    ttl: SHARED_MS,
    ttlAutopurge: true,
  });

async function readState(context: Context, workspaceId: string, slug: string): Promise<State | null> {
  const found = await findPrompt(context, workspaceId, slug);
  if (!found) return null;
  const { versions, tags, ...head } = found;
  const { version, tag } = selectVersion(found, {});
  const etag = version && etagOf(JSON.stringify(await servedAnswer(context, { slug })));
  const moved = tags.map(({ label, versionId }) => `${label} ${versionId}`).toSorted();
  const whole = etagOf(JSON.stringify([head, moved, versions.length, etag])); // versions never change
  return { id: found.id, tag, version: version?.version ?? null, etag, whole };
}
