import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const promptsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/prompts",
  validateSearch: only("q", "after", "dialog"),
  component: lazyRouteComponent(() => import("./Prompts.tsx"), "Prompts"),
});
