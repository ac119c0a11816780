import { isUtf8 } from "node:buffer";
import { GabbroError } from "../errors.ts";
import { passTurns, pauseAfter } from "../limits/turns.ts";
import { checkJson } from "../validation/jsonLimits.ts";
import type { App, FastifyRequest } from "./app.ts";
import { discardUnreadBodies, readsBody } from "./unreadBodies.ts";

/** A larger body is used in the turn after the one that parses it: parsing a megabyte of small values takes 30 to 70 ms. */
const MAX_BYTES_WITHIN_TURN = 256 * 1024;
/** The beginning of a longer body is copied, so that it does not keep the whole body in memory. */
const MAX_KEPT_BYTES = 16 * 1024;
const START_BYTES = 4 * 1024;
/** Fastify parses the parameters of a type twice: 3,000 of them take 4 ms. */
const MAX_TYPE_CHARACTERS = 256;

/** Parses bodies of JSON in UTF-8, and refuses all others before a route sees them. */
export function parseJsonBodies(app: App): void {
  discardUnreadBodies(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i,
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer) => {
      const sinceMs = performance.now();
      request.bodyStart = body.length > MAX_KEPT_BYTES ? Buffer.copyBytesFrom(body, 0, START_BYTES) : body;
      const parsed = parse(request, body);
      request.hasLargeBody = body.length > MAX_BYTES_WITHIN_TURN;
      if (request.hasLargeBody) await pauseAfter(sinceMs);
      return parsed;
    },
  );
  app.addHook("preParsing", (request, _, payload, done) => {
    const isLong = (request.headers["content-type"] ?? "").length > MAX_TYPE_CHARACTERS;
    done(isLong && readsBody(request) ? new GabbroError("UNSUPPORTED_MEDIA_TYPE", LONG_TYPE) : null, payload);
  });
  // Storing 10 MB takes 0.2 s, and writing and sending the answer that repeats them as long again.
  app.addHook("preSerialization", ({ hasLargeBody }, reply, payload, done) => {
    if (!hasLargeBody) return done(null, payload);
    passTurns().then(() => reply.sent || done(null, payload), done); // its time may be up meanwhile
  });
}

const LONG_TYPE = `The Content-Type has more than ${MAX_TYPE_CHARACTERS} characters. Send it without parameters.`;
const COMPRESSED = "The body is compressed, which is not supported: send it without Content-Encoding.";

function parse({ headers, holdValues }: FastifyRequest, body: Buffer): unknown {
  const encoding = headers["content-encoding"];
  if (body.length === 0) throw new GabbroError("BAD_JSON", "The body is empty; send JSON.");
  if (!isUtf8(body)) {
    if (encoding) throw new GabbroError("UNSUPPORTED_MEDIA_TYPE", COMPRESSED);
    throw new GabbroError("BAD_JSON", "The body is not valid UTF-8.");
  }
  return parseJson(body.toString("utf8"), holdValues);
}

/** Parses JSON from the body or the URL of a request; throws BAD_JSON or BAD_INPUT, or what `hold` throws for its values. */
export function parseJson(text: string, hold?: (values: number) => void): unknown {
  const counts = { values: 0, members: 0 };
  checkJson(text, counts);
  hold?.(counts.values);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw new GabbroError("BAD_JSON", `The body is not valid JSON${place ? ` at ${place}` : ""}.`, { cause });
  }
}
