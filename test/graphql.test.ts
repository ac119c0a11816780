import { serverAudits } from "graphql-http";
import { afterAll, expect, test } from "vitest";
import { startServer } from "./server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

const audits = serverAudits({
  url: `${server.url}/graphql`,
  fetchFn: (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${server.token}` } }),
});

test("there are 61 audits of GraphQL over HTTP", () => {
  expect(audits).toHaveLength(61);
});

for (const audit of audits) {
  test(`follows GraphQL over HTTP: ${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    expect({ status: result.status, reason: "reason" in result ? result.reason : undefined }).toEqual({
      status: "ok",
    });
  });
}
