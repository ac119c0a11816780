import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const usageRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/usage",
  validateSearch: only("by", "period", "measure", "slug", "from", "to"),
  component: lazyRouteComponent(() => import("./Usage.tsx"), "Usage"),
});
