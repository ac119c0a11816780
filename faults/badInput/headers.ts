import { TOKEN } from "../gateway.ts";
import type { Material } from "./material.ts";

const odd: Record<string, string[]> = {
  "content-type": [
    "application/json; charset=utf-16",
    "application/json;charset=latin1",
    "application/json;;;",
    "application/json, text/plain",
    "APPLICATION/JSON",
    "application/vnd.api+json",
    "application/graphql",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "text/plain",
    "application/jsonp",
    "x",
    "",
    "\xe9",
    `application/json; ${"a=b; ".repeat(500)}`,
  ],
  "content-encoding": ["gzip", "br", "deflate", "identity", "gzip, gzip", "x", ""],
  accept: [
    "text/html",
    "text/event-stream",
    "application/graphql-response+json",
    "application/json; charset=latin1",
    "text/event-stream, application/json",
    "multipart/mixed",
    "application/*;q=0",
    "nonsense",
    "",
    "\xe9",
  ],
  authorization: [
    "Bearer",
    "Bearer ",
    `bearer ${TOKEN}`,
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN} ${TOKEN}`,
    "Basic YTpi",
    "Bearer \xe9",
    `Bearer ${"x".repeat(5_000)}`,
    TOKEN,
  ],
  "idempotency-key": ["k-1", "k-2", "k-3", "a b", "\xe9", "", "x".repeat(256), "!"],
  "if-none-match": ["*", '"x"', "W/*", ",,,", '"', "\xe9"],
  "x-request-id": ["{}", "a b", "\xe9", "x".repeat(100)],
  host: ["", "a b", "[", "x:y:z", "localhost:99999", "\xe9", "evil.example", "user@host", "http://x/"],
  origin: ["null", "https://evil.example", "x"],
  expect: ["100-continue", "200-ok", ""],
  upgrade: ["websocket", "h2c", "x"],
  connection: ["close", "upgrade", "keep-alive, x", "content-type"],
  cookie: ["a=b; ".repeat(100)],
  "x-forwarded-for": ["::1, x"],
  "accept-encoding": ["gzip", "x"],
  range: ["bytes=0-1", "x"],
  "x-http-method-override": ["DELETE"],
  "access-control-request-method": ["POST"],
  te: ["trailers"],
};

const GZIP = Buffer.from([0x1f, 0x8b]);

/** The headers of a request, now and then with something wrong with them. */
export function oddHeaders(material: Material, body: Buffer | null): Record<string, string> {
  const headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` };
  if (body) headers["content-type"] = "application/json";
  if (body?.subarray(0, 2).equals(GZIP)) headers["content-encoding"] = "gzip";
  if (!material.chance(0.25)) return headers;
  for (let changes = 1 + material.below(2); changes > 0; changes--) {
    const name = material.oneOf(Object.keys(odd));
    if (material.chance(0.15)) delete headers[name];
    else headers[name] = material.oneOf(odd[name]!);
  }
  return headers;
}
