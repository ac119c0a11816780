import type { IncomingHttpHeaders } from "node:http";

/** What sent a request: the SDK of Basalt if it names itself, else the `user-agent`. */
export function clientOf(headers: IncomingHttpHeaders): string | null {
  const { "x-basalt-sdk-type": type, "x-basalt-sdk-version": version = "" } = headers;
  return type ? `Basalt SDK ${type} ${version}`.trimEnd() : headers["user-agent"] || null;
}
