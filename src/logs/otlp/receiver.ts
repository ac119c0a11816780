import type { App } from "../../http/app.ts";
import { otlpRoutes } from "./http.ts";
import type { OtlpOptions } from "./options.ts";

/** Receives OpenTelemetry by HTTP, and by gRPC once `app.listenForGrpc` is called. */
export async function receiveOtlp(app: App, options: OtlpOptions): Promise<void> {
  await app.register(async (routes: App) => otlpRoutes(routes, options));
}
