import { GabbroError } from "../errors.ts";
import type { App } from "./app.ts";

/** Adds `/health`, which reports that the process runs, and `/ready`, which reports whether it should get requests. */
export function healthRoutes(app: App, isReady: () => Promise<boolean>): void {
  app.get("/health", { schema: { hide: true } }, async (_, reply) => {
    reply.header("cache-control", "no-store");
    return { status: "ok" };
  });
  app.get("/ready", { schema: { hide: true } }, async (_, reply) => {
    reply.header("cache-control", "no-store");
    if (!app.isStopping() && (await isReady())) return { status: "ok" };
    const message = app.isStopping() ? "The service is about to stop." : "The database does not answer.";
    throw new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
  });
}
