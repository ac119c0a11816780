import { GabbroError } from "../errors.ts";
import type { FastifyRequest } from "./app.ts";

/** The origin that the client used, by the headers of proxies only where `TRUST_PROXY` names them. */
export function originOf({ protocol, host, socket }: FastifyRequest): string {
  // HTTP/1.0 requires no Host.
  const authority =
    host ||
    `${socket.localFamily === "IPv6" ? `[${socket.localAddress}]` : socket.localAddress}:${socket.localPort}`;
  const url = `${protocol}://${authority}`;
  if (/^https?$/.test(protocol) && URL.canParse(url)) return new URL(url).origin;
  throw new GabbroError("BAD_REQUEST", "The header Host is no valid host: send the address that you use.");
}
