import { createRoute } from "@tanstack/react-router";
import { only } from "../../search.ts";
import { shellRoute } from "../../shell/routes.tsx";
import { Overview } from "./Overview.tsx";
import { prefetchOverview } from "./query.ts";

const validateSearch = only("period");

/** The first screen, and so not in a file of its own, which would take another round trip. */
export const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/overview",
  validateSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => prefetchOverview(context.client, deps),
  component: Overview,
});
