import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";

export const promptRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/prompts/$slug",
  validateSearch: only("version", "view", "from", "dialog"),
  component: lazyRouteComponent(() => import("./PromptScreen.tsx"), "PromptScreen"),
});
