import { assetsVersion } from "./assets.ts";
import { examples } from "./examples.ts";
import type { AssetName } from "./sources.ts";

/** The HTML that a browser gets at GET /graphql. It has no script of its own: boot.js reads the data attributes. */
export function playgroundPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gabbro</title>
<link rel="icon" type="image/svg+xml" href="${assetUrl("icon.svg")}">
<link rel="stylesheet" href="${assetUrl("graphiql.css")}">
<link rel="stylesheet" href="${assetUrl("boot.css")}">
<script defer src="${assetUrl("graphiql.js")}"></script>
<script defer src="${assetUrl("boot.js")}"></script>
</head>
<body>
<header>
<div class="brand"><img src="${assetUrl("icon.svg")}" alt="" width="22" height="22">Gabbro</div>
<form id="access">
<label for="token">Access token</label>
<span class="field">
<input id="token" type="password" placeholder="gab_…" autocomplete="off" spellcheck="false" aria-describedby="hint">
<button id="reveal" type="button" aria-pressed="false" aria-controls="token">Show</button>
</span>
</form>
<p id="hint">Get one with <code>npx gabbro token create --name NAME</code><span class="aside">. It stays in this browser tab only. Signed in to the console, you need none.</span></p>
</header>
<main id="graphiql" data-examples="${attribute(tabs)}" data-workers="${attribute(workers)}" data-introspection="${assetUrl("introspection.json")}"><p>Loading …</p></main>
<noscript>The playground needs JavaScript. Without it, send GraphQL requests to this address by POST.</noscript>
</body>
</html>
`;
}

// Relative, so that the page also works behind a proxy that puts the server below a path.
function assetUrl(name: AssetName): string {
  return `graphql/assets/${name}?v=${assetsVersion}`;
}

const tabs = examples.map(({ query, variables }) => ({
  query,
  variables: JSON.stringify(variables, null, 2),
}));

const workers = {
  editorWorkerService: assetUrl("editor-worker.js"),
  json: assetUrl("json-worker.js"),
  graphql: assetUrl("graphql-worker.js"),
};

function attribute(value: unknown): string {
  return JSON.stringify(value).replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
