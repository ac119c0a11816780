import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from "@tanstack/react-router";
import { findSession } from "../session.ts";
import { Broken, Lost } from "./Lost.tsx";

export const rootRoute = createRootRoute({
  component: Outlet,
  notFoundComponent: Lost,
  errorComponent: Broken,
});

/** Around every screen for people who are signed in. */
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "shell",
  beforeLoad: async ({ location }) => {
    const session = await findSession();
    if (!session)
      throw redirect({ to: "/sign-in", search: { next: location.pathname + location.searchStr } });
    return { session };
  },
  component: lazyRouteComponent(() => import("./Shell.tsx"), "Shell"),
});

export const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/overview" });
  },
});
