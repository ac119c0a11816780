import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const pricesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/prices",
  validateSearch: only("after", "dialog"),
  component: lazyRouteComponent(() => import("./Prices.tsx"), "Prices"),
});
