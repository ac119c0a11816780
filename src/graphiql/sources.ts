import { fileURLToPath } from "node:url";
import type * as graphiql from "@graphql-yoga/render-graphiql/graphiql";

const javascript = "text/javascript; charset=utf-8";
const css = "text/css; charset=utf-8";

/** The source of each asset: a string that the GraphiQL package exports, a file beside this one, or our schema. */
export const sources = {
  "graphiql.css": { type: css, exported: "css" },
  "graphiql.js": { type: javascript, exported: "js" },
  "editor-worker.js": { type: javascript, exported: "editorWorkerService" },
  "json-worker.js": { type: javascript, exported: "jsonWorker" },
  "graphql-worker.js": { type: javascript, exported: "graphqlWorker" },
  "boot.js": { type: javascript, file: fileBeside("boot.js") },
  "boot.css": { type: css, file: fileBeside("boot.css") },
  "icon.svg": { type: "image/svg+xml", file: fileBeside("icon.svg") },
  "introspection.json": { type: "application/json; charset=utf-8", generated: "introspection" },
} satisfies Record<string, Source>;

export type AssetName = keyof typeof sources;

export type Source = { type: string } & (
  | { exported: keyof typeof graphiql }
  | { file: string }
  | { generated: "introspection" }
);

function fileBeside(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
