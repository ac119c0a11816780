import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { GabbroError } from "../errors.ts";

/** Bodies are JSON in UTF-8 and nothing else; anything else is refused before a route sees it. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i,
    { parseAs: "buffer" },
    (_, body, done) => {
      try {
        done(null, parse(body as Buffer));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

function parse(body: Buffer): unknown {
  if (body.length === 0) throw new GabbroError("BAD_JSON", "The body is empty; send JSON.");
  if (!isUtf8(body)) throw new GabbroError("BAD_JSON", "The body is not valid UTF-8.");
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw new GabbroError("BAD_JSON", `The body is not valid JSON${place ? ` at ${place}` : ""}.`, { cause });
  }
}
