import { GabbroError } from "../errors.ts";
import type { FastifyRequest } from "./app.ts";
import { canParseOrigin, originOf } from "./origin.ts";

/** A browser accepts it only over TLS, from this very host, and for all paths. */
const SECURE_NAME = "__Host-gabbro";
const ATTRIBUTES = "Path=/; HttpOnly; SameSite=Strict";

/** The name where there is no TLS. Cookies of `localhost` are shared by all its ports, so it has the port. */
const plainNameOf = (host: string) => `gabbro_${/:(\d+)$/.exec(host)?.[1] ?? "80"}`;

/**
 * The secret of the session in the cookie of a request; undefined without one. Throws FORBIDDEN when the request may come
 * from a page of another origin, which a browser sends with the same cookie.
 */
export function sessionSecretOf(request: FastifyRequest): string | undefined {
  const secret = secretInCookie(request);
  if (secret !== undefined) refuseOtherOrigins(request);
  return secret;
}

/** The secret that stands for the caller at GraphQL: only there a cookie counts, and only for JSON by POST. */
export function graphqlSessionSecretOf(request: FastifyRequest): string | undefined {
  const { method, headers } = request;
  if (headers.authorization !== undefined || method !== "POST" || !isJson(request)) return undefined;
  return sessionSecretOf(request);
}

/** The same whatever page sends the request, and so not to be trusted. */
export function secretInCookie({ headers, host }: FastifyRequest): string | undefined {
  if (headers.cookie === undefined) return undefined;
  // Of a host in a network, a neighbouring host of its domain can set the plain one, to a session of its own.
  const names = isLoopback(host) ? [SECURE_NAME, plainNameOf(host)] : [SECURE_NAME];
  return names.map((name) => cookieValue(headers.cookie!, name)).find(Boolean);
}

/** The value of a cookie. Splitting 16 kB of separators would take 1 to 2 ms, before any limit applies. */
function cookieValue(cookies: string, name: string): string | undefined {
  const key = `${name}=`;
  for (let at = cookies.indexOf(key); at >= 0; at = cookies.indexOf(key, at + 1))
    if (at === 0 || " ;".includes(cookies[at - 1]!))
      return cookies
        .slice(at + key.length)
        .split(";", 1)[0]!
        .trim();
  return undefined;
}

/** Throws FORBIDDEN unless the browser says that a page of this very origin sends the request. */
export function refuseOtherOrigins({ headers, host }: FastifyRequest): void {
  const site = headers["sec-fetch-site"];
  const { origin = "" } = headers;
  const isOwn = site === undefined ? hostOf(origin) === host.toLowerCase() : site === "same-origin";
  if (isOwn) return;
  const message =
    "Only the pages of the console may sign in or use its session. Programs send the header Authorization: Bearer <token>.";
  throw new GabbroError("FORBIDDEN", message);
}

/** Whether the body is declared as JSON itself, which a page of another origin cannot send without asking first. */
export function isJson({ headers }: FastifyRequest): boolean {
  return /^application\/json(?:\s*;|$)/i.test(headers["content-type"] ?? "");
}

/** The `Set-Cookie` of a new session. Throws BAD_REQUEST where its secret would travel unencrypted over a network. */
export function cookieOf(request: FastifyRequest, secret: string, maxAgeMs: number): string {
  const { headers, host } = request;
  const { origin = originOf(request) } = headers;
  const lifetime = `Max-Age=${Math.floor(maxAgeMs / 1_000)}`;
  if (origin.startsWith("https:")) return `${SECURE_NAME}=${secret}; ${lifetime}; ${ATTRIBUTES}; Secure`;
  if (isLoopback(host)) return `${plainNameOf(host)}=${secret}; ${lifetime}; ${ATTRIBUTES}`;
  const message =
    "The console needs HTTPS, or else anyone on the way can read the session. Open it by https://, or on the same machine by http://localhost.";
  throw new GabbroError("BAD_REQUEST", message);
}

/** The `Set-Cookie` headers that remove a session from the browser. */
export function cookiesOfNoSession({ host }: FastifyRequest): string[] {
  const removed = `=; Max-Age=0; ${ATTRIBUTES}`;
  return [`${SECURE_NAME}${removed}; Secure`, plainNameOf(host) + removed];
}

function hostOf(origin: string): string | undefined {
  return canParseOrigin(origin) ? new URL(origin).host : undefined;
}

function isLoopback(host: string): boolean {
  const name = hostOf(`http://${host}`)?.replace(/:\d+$/, "") ?? "";
  return (
    name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127\.[\d.]+$/.test(name)
  );
}
