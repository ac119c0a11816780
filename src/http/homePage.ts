import { hash } from "node:crypto";
import packageJson from "../../package.json" with { type: "json" };
import type { App } from "./app.ts";

/**
 * Adds a page at `/` for people who open the address in a browser, or leads them to the console; other clients get
 * ROUTE_NOT_FOUND.
 */
export function homePage(app: App, content: "page" | "link to console"): void {
  app.get("/", { schema: { hide: true } }, (request, reply) => {
    reply.header("vary", `${reply.getHeader("vary")}, Accept`);
    if (!request.headers.accept?.includes("text/html")) return reply.callNotFound();
    if (content === "link to console") return reply.header("cache-control", "no-cache").redirect("/console");
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", policy)
      .header("cache-control", "no-cache")
      .send(page);
  });
}

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 38rem; margin: 12vh auto 0; padding: 0 1.25rem; }
h1 { display: flex; align-items: center; gap: .5rem; font-size: 1.5rem; margin: 0 0 .5rem; }
dt { margin-top: 1rem; font-weight: 600; }
dd { margin: 0; }
footer { margin-top: 2rem; font-size: .875rem; opacity: .7; }
`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${hash("sha256", style, "base64")}'`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

// Links are relative: they also work behind a proxy that serves Gabbro below a path.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gabbro</title>
<link rel="icon" type="image/svg+xml" href="graphql/assets/icon.svg">
<style>${style}</style>
</head>
<body>
<h1><img src="graphql/assets/icon.svg" alt="" width="28" height="28">Gabbro</h1>
<p>The open prompt and dataset service that teams run themselves. This server has two APIs over the same data; each needs
an access token.</p>
<dl>
<dt><a href="graphql">GraphQL</a></dt>
<dd>Write queries and run them in the browser, with the schema at hand.</dd>
<dt><a href="docs">REST</a></dt>
<dd>Every path with its parameters, to try out; also as <a href="openapi.json">OpenAPI</a>.</dd>
<dt>No access token yet?</dt>
<dd>Make one where the server runs: <code>npx gabbro token create --name NAME</code></dd>
</dl>
<footer>Gabbro ${packageJson.version}</footer>
</body>
</html>
`;
