import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { GabbroError } from "../errors.ts";
import { checkJson } from "./jsonLimits.ts";

/** Bodies are JSON in UTF-8 and nothing else; anything else is refused before a route sees it. */
export function parseJsonBodies(app: FastifyInstance): void {
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
  return parseJson(body.toString("utf8"));
}

/** Reads JSON that came with a request, by body or by URL; throws BAD_JSON or BAD_INPUT. */
export function parseJson(text: string): unknown {
  checkJson(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw new GabbroError("BAD_JSON", `The body is not valid JSON${place ? ` at ${place}` : ""}.`, { cause });
  }
}
