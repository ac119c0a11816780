import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const tracesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/traces",
  validateSearch: only("q", "slug", "since", "day", "user", "minCost", "minLatency", "sort", "after"),
  component: lazyRouteComponent(() => import("./Traces.tsx"), "Traces"),
});
