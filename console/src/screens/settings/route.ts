import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/settings",
  validateSearch: only("after", "item", "before"),
  component: lazyRouteComponent(() => import("./Settings.tsx"), "Settings"),
});
