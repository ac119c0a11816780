import { createRouter } from "@tanstack/react-router";
import { auditRoute } from "./screens/audit/route.ts";
import { datasetRoute } from "./screens/dataset/route.ts";
import { datasetsRoute } from "./screens/datasets/route.ts";
import { logRoute } from "./screens/log/route.ts";
import { logsRoute } from "./screens/logs/route.ts";
import { overviewRoute } from "./screens/overview/route.ts";
import { pricesRoute } from "./screens/prices/route.ts";
import { promptRoute } from "./screens/prompt/route.ts";
import { promptsRoute } from "./screens/prompts/route.ts";
import { settingsRoute } from "./screens/settings/route.ts";
import { signInRoute, startRoute } from "./screens/signIn/route.ts";
import { tokensRoute } from "./screens/tokens/route.ts";
import { traceRoute } from "./screens/trace/route.ts";
import { tracesRoute } from "./screens/traces/route.ts";
import { usageRoute } from "./screens/usage/route.ts";
import { parseSearch, stringifySearch } from "./search.ts";
import { homeRoute, rootRoute, shellRoute } from "./shell/routes.tsx";

/** Every screen is a folder below `screens/`, with its route, its queries and its parts; it is listed here. */
const routeTree = rootRoute.addChildren([
  signInRoute,
  startRoute,
  shellRoute.addChildren([
    homeRoute,
    overviewRoute,
    promptsRoute,
    promptRoute,
    datasetsRoute,
    datasetRoute,
    logsRoute,
    logRoute,
    tracesRoute,
    traceRoute,
    usageRoute,
    pricesRoute,
    tokensRoute,
    auditRoute,
    settingsRoute,
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
