import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { badInput, GabbroError } from "../errors.ts";
import { INEXACT, isInexact } from "../inputs.ts";

/** Bodies are JSON in UTF-8 and nothing else; anything else is refused before a route sees it. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i,
    { parseAs: "buffer" },
    (request, body, done) => {
      try {
        done(null, parse(body as Buffer, request.headers["content-encoding"]));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

const COMPRESSED = "The body is compressed, which is not read here: send it without Content-Encoding.";

function parse(body: Buffer, encoding: string | undefined): unknown {
  if (body.length === 0) throw new GabbroError("BAD_JSON", "The body is empty; send JSON.");
  if (!isUtf8(body)) {
    if (encoding) throw new GabbroError("UNSUPPORTED_MEDIA_TYPE", COMPRESSED);
    throw new GabbroError("BAD_JSON", "The body is not valid UTF-8.");
  }
  const text = body.toString("utf8");
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, refuseInexact) : JSON.parse(text);
  } catch (cause) {
    if (cause instanceof GabbroError) throw cause;
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw new GabbroError("BAD_JSON", `The body is not valid JSON${place ? ` at ${place}` : ""}.`, { cause });
  }
}

const LONG_NUMBER = /\d{16}/;

/** JavaScript would change a whole number beyond 2^53 in silence; what is kept must come back as it was sent. */
function refuseInexact(key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value === "number" && source && isInexact(source))
    throw badInput([{ path: key, message: INEXACT }]);
  return value;
}
