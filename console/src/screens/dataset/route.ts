import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const datasetRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/datasets/$slug",
  validateSearch: only("version", "cell", "dialog"),
  component: lazyRouteComponent(() => import("./DatasetScreen.tsx"), "DatasetScreen"),
});
