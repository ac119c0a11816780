import { afterAll, expect, test } from "vitest";
import { addToken } from "../support/data.ts";
import { subscribe } from "../support/events.ts";
import { startServer } from "../support/server.ts";

const metricsToken = "a-token-for-watching-only-0123";
const server = await startServer({ metricsToken });
afterAll(() => server[Symbol.asyncDispose]());

const OLD = "{ auditLog(first: 1) { nodes { at } } }";
const NEW = "{ auditLog(first: 1) { nodes { createdAt } } }";

test.each([
  ["application/json"],
  ["application/graphql-response+json"],
  ["application/json, text/event-stream"],
])("an answer that accepts %s names the deprecated fields that were used, each time", async (accept) => {
  for (const _ of ["parsed", "cached"]) {
    const { headers } = await server.graphql(OLD, {}, { headers: { accept } });
    expect(headers["gabbro-deprecated"]).toBe("AuditEntry.at");
    expect((await server.graphql(NEW, {}, { headers: { accept } })).headers).not.toHaveProperty(
      "gabbro-deprecated",
    );
  }
});

test("each deprecated field is named once, wherever it stands", async () => {
  const { headers } = await server.graphql(
    `query { auditLog { nodes { ...Entry } edges { node { at again: at } } } prompts { nodes { tagHistory { nodes { at } } } } }
    fragment Entry on AuditEntry { at }`,
  );
  expect(headers["gabbro-deprecated"]).toBe("AuditEntry.at, PromptTagMove.at");
});

test("a subscription and a request by GET have the header as well", async () => {
  const asked = new URLSearchParams({ query: OLD });
  expect((await server.get(`/graphql?${asked}`)).headers["gabbro-deprecated"]).toBe("AuditEntry.at");
  const listening = "subscription { logAdded { prompt { tagHistory(first: 1) { nodes { at } } } } }";
  await using events = await subscribe(server, listening, {}, server.token);
  expect(events.response.headers.get("gabbro-deprecated")).toBe("PromptTagMove.at");
});

test("metrics count the uses of each deprecated field by token", async () => {
  const { token, id } = await addToken(server, { scopes: ["admin", "read"] });
  for (const query of [OLD, OLD, NEW]) await server.graphql(query, {}, { token });
  const { body } = await server.get("/metrics", { token: metricsToken });
  expect(body).toContain(`gabbro_deprecated_uses_total{field="AuditEntry.at",token="${id}"} 2\n`);
});

test("an operation that is refused uses nothing", async () => {
  const { body, headers } = await server.graphql("{ auditLog { nodes { at nothing } } }");
  expect(body.errors[0].extensions.code).toBe("GRAPHQL_VALIDATION_FAILED");
  expect(headers).not.toHaveProperty("gabbro-deprecated");
});
