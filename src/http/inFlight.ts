import type { FastifyRequest } from "fastify";
import { createShares, type Share } from "../limits/shares.ts";

/** Stands for the workspace of a request without a token, or whose token is still to be looked up. */
export const NO_WORKSPACE = "";
/** Pages that need no token, and the assets of `/docs`. They are large and made anew for each request. */
const PUBLIC = /^\/(?:docs|openapi\.json|console\/\*)(?:\/|$)|^\/console$/;
/** They stay in memory, so one more costs next to nothing. The first of GraphiQL wait for seconds until they are packed. */
const ASSETS = /^\/(?:graphql|console)\/assets\//;
const MAX_PUBLIC = 20;
const MAX_ASSETS = 200;
const MAX_SIGNING_IN = 50;

/** Counts the requests in flight, at most so many of workspaces, and of callers without a token. */
export function createInFlight(max: number) {
  const ofWorkspaces = createShares(max);
  /** Requests of no workspace have shares of their own, by their addresses, and cannot exhaust those of workspaces. */
  const withoutToken = createShares(max);
  const publicRoutes = createShares(MAX_PUBLIC);
  const assets = createShares(MAX_ASSETS);
  const signingIn = createShares(MAX_SIGNING_IN);
  const sharesOf = ({ routeOptions: { url = "", config } }: FastifyRequest) => {
    if (config.signsIn) return signingIn;
    if (ASSETS.test(url)) return assets;
    return PUBLIC.test(url) ? publicRoutes : withoutToken;
  };
  const all = [ofWorkspaces, withoutToken, publicRoutes, assets, signingIn];
  return {
    ofWorkspaces,
    take: (workspaceId: string, request: FastifyRequest): Share | undefined =>
      workspaceId === NO_WORKSPACE
        ? sharesOf(request).take(request.ip, 1)
        : ofWorkspaces.take(workspaceId, 1),
    total: (): number => all.reduce((sum, shares) => sum + shares.total(), 0),
  };
}
