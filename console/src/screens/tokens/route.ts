import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const tokensRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/tokens",
  validateSearch: only("after", "dialog"),
  component: lazyRouteComponent(() => import("./Tokens.tsx"), "Tokens"),
});
