import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const datasetsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/datasets",
  validateSearch: only("q", "after", "dialog"),
  component: lazyRouteComponent(() => import("./Datasets.tsx"), "Datasets"),
});
