import { GabbroError } from "../errors.ts";

/** OpenTelemetry's JSON would be stored as an empty trace, as unknown members are ignored. Throws BAD_INPUT. */
export function refuseOtlp(body: unknown): void {
  for (const [member, path] of Object.entries(otlpPaths))
    if (typeof body === "object" && body !== null && Object.hasOwn(body, member)) {
      const message = `The body is OpenTelemetry's JSON (it has "${member}"): post it to ${path}.`;
      throw new GabbroError("BAD_INPUT", message, {
        details: [{ path: member, message: `Post it to ${path}.` }],
      });
    }
}

const otlpPaths = {
  resourceSpans: "/v1/traces",
  resourceLogs: "/v1/logs",
  resourceMetrics: "/v1/metrics",
};
