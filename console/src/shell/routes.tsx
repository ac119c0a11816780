import { createRootRoute, createRoute, Outlet, redirect } from "@tanstack/react-router";
import type { Client } from "urql";
import { createClient } from "../data.ts";
import { findSession, type Session } from "../session.ts";
import { Broken, Lost } from "./Lost.tsx";
import { Shell } from "./Shell.tsx";

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
    return { session, client: clientOf(session) };
  },
  component: Shell,
});

const clients = new WeakMap<Session, Client>();

/** The client of a session: what one session has read is not for the next. */
function clientOf(session: Session): Client {
  const client = clients.get(session) ?? createClient();
  clients.set(session, client);
  return client;
}

export const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/overview" });
  },
});
