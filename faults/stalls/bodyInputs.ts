import { gzipSync } from "node:zlib";
import { BOTH, callers, fillJson, headersOf, here, type Input, MAX_BODY_BYTES, maxCpuMs } from "./inputs.ts";
import type { Shape } from "./shapes.ts";

type Fill = (shape: Shape, size: number, n: number) => Buffer;

const bytes: Fill = (shape, size) => Buffer.from(shape.make(size));
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const MULTIPART = { "content-type": "multipart/form-data; boundary=x" };

/** Bodies as a whole, and the members of a request of GraphQL beside its variables. */
export function bodyInputs(): Input[] {
  const query = "{ __typename }";
  const ofGraphql: [string, Fill, Record<string, string>?][] = [
    ["body", bytes],
    ["query", fillJson({ query: here })],
    ["variables", fillJson({ query, variables: here })],
    ["a variable that is not declared", fillJson({ query, variables: { x: here } })],
    ["extensions", fillJson({ query, extensions: here })],
    ["operationName", fillJson({ query, operationName: here })],
    ["an unknown member", fillJson({ query, x: here })],
    ["one of several", fillJson([{ query }, here])],
    ["form", bytes, FORM],
    ["multipart", bytes, MULTIPART],
    ["plain text", bytes, { "content-type": "text/plain" }],
    ["compressed", (...shaped) => gzipSync(bytes(...shaped), { level: 1 }), { "content-encoding": "gzip" }],
  ];
  const ofRest: [string, Fill][] = [
    ["body", bytes],
    ["an unknown member", fillJson({ x: here })],
  ];
  const paths = [
    "/monitor/log",
    "/datasets/own-dataset/items",
    "/prompts/own-prompt/publish",
    "/nowhere",
    "/docs",
  ];
  const all = [
    ...ofGraphql.map((one) => ["/graphql", ...one] as const),
    ...paths.flatMap((path) => ofRest.map((one) => [path, ...one] as const)),
  ];
  return all.flatMap(([path, name, fill, more]) =>
    callers.map(
      (caller): Input => ({
        name: `POST ${path} ${name}, ${caller}`,
        area: "whole bodies",
        limit: MAX_BODY_BYTES,
        maxCpuMs: maxCpuMs(caller),
        kinds: BOTH,
        fill: (...shaped) => ({
          method: "POST",
          path,
          headers: headersOf(caller, more),
          body: fill(...shaped),
        }),
      }),
    ),
  );
}
