import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const logsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/logs",
  validateSearch: only(
    "q",
    "slug",
    "version",
    "since",
    "day",
    "to",
    "user",
    "model",
    "status",
    "minCost",
    "minLatency",
    "after",
    "live",
  ),
  component: lazyRouteComponent(() => import("./Logs.tsx"), "Logs"),
});
