import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const traceRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/traces/$id",
  validateSearch: only("step", "collapsed", "q", "dialog"),
  component: lazyRouteComponent(() => import("./TraceScreen.tsx"), "TraceScreen"),
});
