import type { App } from "../http/app.ts";
import type { Family } from "./families.ts";

/** Bounds the memory: beyond it, uses are counted together, under `token="(others)"`. */
const MAX_SERIES = 10_000;

/** Counts the deprecated parts of the schema that requests use, by token, and returns a function for the counts. */
export function countDeprecations(app: App): () => Family {
  const uses = new Map<string, { field: string; token: string; value: number }>();
  app.addHook("onResponse", ({ context }, _, done) => {
    for (const field of context?.deprecated ?? []) {
      const caller = context.access?.tokenId ?? "";
      const token = uses.has(`${field} ${caller}`) || uses.size < MAX_SERIES ? caller : "(others)";
      const key = `${field} ${token}`;
      uses.set(key, { field, token, value: (uses.get(key)?.value ?? 0) + 1 });
    }
    done();
  });
  return () => ({
    name: "gabbro_deprecated_uses_total",
    type: "counter",
    help: "Requests that use a deprecated part of the GraphQL schema, by the id of the token.",
    samples: [...uses.values()].map(({ field, token, value }) => ({ labels: { field, token }, value })),
  });
}
