import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const logRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/logs/$id",
  validateSearch: only("dialog"),
  component: lazyRouteComponent(() => import("./LogScreen.tsx"), "LogScreen"),
});
