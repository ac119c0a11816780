import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { type Server, startServer } from "../support/server.ts";

const FROM_A_BROWSER = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

let server: Server;
beforeAll(async () => {
  server = await startServer({ timeLimitMs: 25_000 }); // an asset is packed when it is first asked for
});
afterAll(() => server[Symbol.asyncDispose]());

test("GET / shows a browser what the server is, its version and the way to both APIs, without a token", async () => {
  const { status, headers, body } = await server.get("/", { token: null, headers: FROM_A_BROWSER });
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(headers.vary).toContain("Accept");
  expect(body).toContain("The open prompt and dataset service");
  expect(body).toContain(`Gabbro ${packageJson.version}`);
});

test("every link of the page leads somewhere", async () => {
  const { body } = await server.get("/", { token: null, headers: FROM_A_BROWSER });
  const links = [...String(body).matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link!);
  expect(new Set(links)).toEqual(new Set(["graphql/assets/icon.svg", "graphql", "docs", "openapi.json"]));
  for (const link of links) {
    const answer = await fetch(new URL(link, `${server.url}/`), { headers: FROM_A_BROWSER });
    expect(answer.status, link).toBe(200);
  }
});

test("the page may load its own style and icon, and nothing else", async () => {
  const { headers, body } = await server.get("/", { token: null, headers: FROM_A_BROWSER });
  const [, style] = /<style>(.*)<\/style>/s.exec(String(body))!;
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(style!))).toString("base64");
  expect(headers["content-security-policy"]).toBe(
    `default-src 'none'; style-src 'sha256-${digest}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(body).not.toContain("<script");
});

test.each([
  ["GET", "*/*"],
  ["GET", "application/json"],
  ["POST", FROM_A_BROWSER.accept],
])("for programs there is nothing at this path: %s / with Accept: %s", async (method, accept) => {
  const { status, body } = await server.request(method, "/", undefined, { headers: { accept } });
  expect({ status, code: body.code }).toEqual({ status: 404, code: "ROUTE_NOT_FOUND" });
});

test("a server without pages has none here either", async () => {
  await using bare = await startServer({ playground: false });
  const { status, body } = await bare.get("/", { token: null, headers: FROM_A_BROWSER });
  expect({ status, code: body.code }).toEqual({ status: 404, code: "ROUTE_NOT_FOUND" });
});
