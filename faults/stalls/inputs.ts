import { TOKEN } from "../gateway.ts";
import type { Packets } from "./packets.ts";
import type { Request } from "./requests.ts";
import type { Shape } from "./shapes.ts";

/** One place of a request that can grow. */
export interface Input {
  name: string;
  area: string;
  /** The most characters that are worth sending. */
  limit: number;
  kinds: readonly Shape["kind"][];
  /** The most processor time that it may take, if less than others. */
  maxCpuMs?: number | undefined;
  /** The request with so much there; `n` makes it another one each time. */
  fill(shape: Shape, size: number, n: number): Request | Packets;
}

export const MAX_BODY_BYTES = 10 * 1024 * 1024 - 4_096;
/** Node.js takes 16 kB for all headers together with the path. */
export const MAX_HEAD_BYTES = 15_000;
export const MAX_HEAD_CPU_MS = 60;
export const BOTH = ["text", "json"] as const;

/** Who asks; without a token nothing may cost anything. */
export const callers = ["with a token", "without a token"] as const;
export type Caller = (typeof callers)[number];

/** Of somebody without a token not even the body is read, whatever its size. */
export const maxCpuMs = (caller: Caller | "with a key") => (caller === "without a token" ? 100 : undefined);

/** The headers of somebody who sends JSON. */
export function headersOf(
  caller: Caller | "with a key",
  more: Record<string, string> = {},
  n = 0,
): Record<string, string> {
  return {
    "content-type": "application/json",
    ...(caller !== "without a token" && { authorization: `Bearer ${TOKEN}` }),
    ...(caller === "with a key" && { "idempotency-key": `key-${n}` }),
    ...more,
  };
}

export const pathHere = "@@HERE@@";
/** Takes the place of what grows while a request is made. */
export const here: unknown = pathHere;

/** A body in JSON in which the value that `here` holds grows. */
export function fillJson(body: unknown): (shape: Shape, size: number, n: number) => Buffer {
  const [before, after] = JSON.stringify(body).split(JSON.stringify(here)) as [string, string];
  return (shape, size, n) => {
    const made = shape.make(size);
    const value = shape.kind === "text" ? JSON.stringify(made) : made;
    return Buffer.from(unique(before, n) + value + unique(after, n));
  };
}

/** What is made gets a name of its own each time. */
function unique(json: string, n: number): string {
  return json
    .replaceAll('"own-unused"', `"own-unused-${n}"`)
    .replaceAll('"own-key"', `"own-key-${n}"`)
    .replaceAll('"3.0.0"', `"3.${n}.0"`);
}

/** A path in which `here` grows, escaped. */
export function fillPath(path: string): (shape: Shape, size: number) => string {
  const [before, after] = path.split(pathHere) as [string, string];
  return (shape, size) => {
    const maxCharacters = MAX_HEAD_BYTES - before.length - after.length;
    const escaped = encodeURIComponent(shape.make(size).toWellFormed()).slice(
      0,
      Math.min(size, maxCharacters),
    );
    return before + escaped.replace(/%.?$/, "") + after;
  };
}

/** A path in which `here` grows as it is written, with wrong escapes and all. */
export function fillRawPath(path: string): (shape: Shape, size: number) => string {
  const [before, after] = path.split(pathHere) as [string, string];
  return (shape, size) => {
    const maxCharacters = Math.min(size, MAX_HEAD_BYTES - before.length - after.length);
    return before + shape.make(maxCharacters).replace(/[^\x21-\x7e]/g, "?") + after;
  };
}

/** What a header may hold of a shape. */
export function fillHeader(shape: Shape, size: number): string {
  return shape.make(size).replace(/[^\t\x20-\x7e\x80-\xff]/g, "?");
}
