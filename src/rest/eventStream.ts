import { Readable } from "node:stream";
import type { FastifyReply } from "../http/app.ts";

/** Proxies and clients give up connections on which nothing arrives for long, often after a minute. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Answers with server-sent events, each with the JSON of a value as its data. Values are taken as fast as the client reads
 * them. What the first value throws has the status of its error.
 */
export async function sendEvents(
  reply: FastifyReply,
  values: AsyncIterableIterator<object>,
): Promise<FastifyReply> {
  const first = await values.next();
  // The client got TIMED_OUT: nobody would end the values.
  if (reply.sent) {
    await values.return?.();
    return reply;
  }
  reply.headers({ "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" });
  return reply.send(toStream(values, first));
}

function toStream(values: AsyncIterableIterator<object>, first: IteratorResult<object>): Readable {
  let next: Promise<IteratorResult<object>> | undefined = Promise.resolve(first);
  let isReading = false;
  const stream = new Readable({
    read: async () => {
      if (isReading) return; // a comment was sent meanwhile
      isReading = true;
      try {
        const { done, value } = await (next ?? values.next());
        next = undefined;
        isReading = false;
        if (done) clearInterval(keepAlive); // nothing may follow the end
        stream.push(done ? null : `data: ${JSON.stringify(value)}\n\n`);
      } catch (error) {
        stream.destroy(error as Error);
      }
    },
    destroy: (error, done) => {
      clearInterval(keepAlive);
      // The client has gone: nobody gets the error of a read that was under way, and unhandled it would end the process.
      values.return?.().catch(() => {});
      done(error);
    },
  });
  const keepAlive = setInterval(() => {
    if (stream.readableLength === 0) stream.push(": still here\n\n");
  }, KEEP_ALIVE_MS).unref();
  return stream;
}
