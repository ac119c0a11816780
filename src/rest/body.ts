import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { badInput, GabbroError } from "../errors.ts";
import { INEXACT, isInexact, MAX_JSON_DEPTH } from "../inputs.ts";

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
  return parseJson(body.toString("utf8"));
}

/** Reads JSON that came with a request, by body or by URL; throws BAD_JSON or BAD_INPUT. */
export function parseJson(text: string): unknown {
  if (hasManyBrackets(text) && isNestedTooDeep(text)) throw badInput([{ path: "", message: TOO_DEEP }]);
  try {
    return LONG_NUMBER.test(text) ? JSON.parse(text, refuseInexact) : JSON.parse(text);
  } catch (cause) {
    if (cause instanceof GabbroError) throw cause;
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec((cause as Error).message)?.[0];
    throw new GabbroError("BAD_JSON", `The body is not valid JSON${place ? ` at ${place}` : ""}.`, { cause });
  }
}

/** A value that may be kept stands a few levels deep in a body: within the variables of an operation, in a list of rows. */
const MAX_BODY_DEPTH = MAX_JSON_DEPTH + 28;
const TOO_DEEP = `must not be nested deeper than ${MAX_BODY_DEPTH} levels`;

/** Whether it could be nested too deep. Nearly no body has so many brackets, and looking for them costs next to nothing. */
function hasManyBrackets(text: string): boolean {
  let brackets = 0;
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (++brackets > MAX_BODY_DEPTH) return true;
  return false;
}

/** What walks through a value calls itself for each level: one that is nested without limit would be a fault of ours. */
function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfText(text, at);
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth > MAX_BODY_DEPTH) return true;
  }
  return false;
}

function endOfText(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at += 1;
  return at;
}

const LONG_NUMBER = /\d{16}/;

/** JavaScript would change a whole number beyond 2^53 in silence; what is kept must come back as it was sent. */
function refuseInexact(key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value === "number" && source && isInexact(source))
    throw badInput([{ path: key, message: INEXACT }]);
  return value;
}
