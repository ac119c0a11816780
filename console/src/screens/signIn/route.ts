import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { rootRoute } from "../../shell/routes.tsx";

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: only("next"),
  component: lazyRouteComponent(() => import("./SignIn.tsx"), "SignIn"),
});

/** Where the link of the first start leads: its code is behind the #, which browsers do not send. */
export const startRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/start",
  component: lazyRouteComponent(() => import("./SignIn.tsx"), "Start"),
});
