import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OpenAPIV3_1 } from "openapi-types";
import type { Fixtures } from "../../test/support/fixtures.ts";
import { urlInput } from "./fieldInputs.ts";
import {
  callers,
  fillHeader,
  fillPath,
  fillRawPath,
  headersOf,
  type Input,
  MAX_HEAD_BYTES,
  MAX_HEAD_CPU_MS,
  pathHere,
} from "./inputs.ts";
import { repeated, type Shape } from "./shapes.ts";

const sources = fileURLToPath(new URL("../../src", import.meta.url));

/** What the frameworks read, and one that nobody does. */
const OF_FRAMEWORKS = [
  ...[
    "host",
    "cookie",
    "range",
    "expect",
    "te",
    "user-agent",
    "if-modified-since",
    "content-type",
    "accept-language",
  ],
  ...["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "accept-charset", "x-unknown"],
  ...["access-control-request-method", "access-control-request-headers", "content-encoding", "prefer"],
];
/** What says where a request ends is for Node.js, which cuts the connection. */
const OF_THE_CONNECTION = /^(?:connection|content-length|transfer-encoding)$/;

/** The names of all headers that the sources read, and of some that the frameworks do. */
export async function readHeaders(): Promise<string[]> {
  const files = await readdir(sources, { recursive: true });
  const texts = await Promise.all(
    files.filter((name) => name.endsWith(".ts")).map((name) => readFile(join(sources, name), "utf8")),
  );
  const read = texts.flatMap((text) =>
    [...text.matchAll(/headers(?:\??\.|\[")([\w-]+)(?!\()\b/g)].map(([, name]) => name!.toLowerCase()),
  );
  const names = new Set([...read, ...OF_FRAMEWORKS, "accept", "accept-encoding", "origin"]);
  return [...names].filter((name) => /^[a-z][a-z-]+$/.test(name) && !OF_THE_CONNECTION.test(name)).toSorted();
}

/** Every header, sent to what reads headers. */
export function headerInputs(names: string[], { prompt }: Fixtures): Input[] {
  const asked = [
    ["GET", `/prompts/${prompt}`, null],
    ["GET", "/metrics", null],
    ["GET", "/openapi.json", null],
    ["GET", "/graphql?query={__typename}", null],
    ["GET", "/nowhere", null],
    ["OPTIONS", "/graphql", null],
    ["POST", "/graphql", Buffer.from('{"query":"{ __typename }"}')],
    ["POST", "/monitor/log", Buffer.from(JSON.stringify({ slug: prompt, output: "x" }))],
  ] as const;
  return asked.flatMap(([method, path, body]) =>
    [...names, SHORT_NAMES, REPEATED].map(
      (name): Input => ({
        name: `${method} ${path} ${name}`,
        area: "headers",
        limit: MAX_HEAD_BYTES,
        maxCpuMs: MAX_HEAD_CPU_MS,
        kinds: ["text"],
        fill: (shape, size) => {
          const { "content-type": type, ...plain } = headersOf("with a token", {
            host: "x",
            origin: "https://a.example",
          });
          const headers = { ...plain, ...(body && { "content-type": type! }), ...grown(name, shape, size) };
          return { method, path, headers, body };
        },
      }),
    ),
  );
}

const SHORT_NAMES = "with many names";
const REPEATED = "one again and again";

function grown(name: string, shape: Shape, size: number): Record<string, string | string[]> {
  const value = fillHeader(shape, Math.min(20, size));
  const times = Math.floor(size / (value.length + 12));
  if (name === SHORT_NAMES)
    return Object.fromEntries(Array.from({ length: times }, (_, n) => [`x-${n}`, value]));
  if (name === REPEATED) return { accept: Array.from({ length: times }, () => value) };
  return { [name]: fillHeader(shape, size) };
}

const PARAMETERS = ["query", "variables", "extensions", "operationName", "unknown"];

/** Every parameter of GraphQL with GET, and paths of every kind. */
export function addressInputs(document: OpenAPIV3_1.Document): Input[] {
  const ofGraphql = PARAMETERS.map((name) => {
    const others = name === "query" ? "" : "&query={__typename}";
    return [`GET /graphql ${name}`, fillPath(`/graphql?${name}=${pathHere}${others}`)] as const;
  });
  const paths = [
    ...Object.keys(document.paths!),
    "/graphql/assets",
    "/docs",
    "/health",
    "/metrics",
    "/graphql",
    "",
  ];
  const ofPaths = paths.flatMap((path) => [
    [`GET ${path}/…`, fillPath(`${path}/${pathHere}`)] as const,
    [`GET ${path}?…`, fillPath(`${path}?${pathHere}`)] as const,
    [`GET ${path}?…=`, unescaped(`${path || "/"}?`)] as const,
    [`GET ${path}/… as written`, fillRawPath(`${path}/${pathHere}`)] as const,
    [`GET ${path}?… as written`, fillRawPath(`${path || "/"}?a=${pathHere}`)] as const,
  ]);
  return [...ofGraphql, ...ofPaths].flatMap(([name, fill]) =>
    callers.map((caller) => urlInput(name, caller, fill)),
  );
}

/** Many parameters whose names differ, each with something of a shape, not escaped. */
function unescaped(path: string): ReturnType<typeof fillPath> {
  return (shape, size) => {
    const value = encodeURIComponent(shape.make(8).toWellFormed());
    return path + repeated(Math.min(size, MAX_HEAD_BYTES), (n) => `p${n}=${value}&`);
  };
}
