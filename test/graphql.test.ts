import { serverAudits } from "graphql-http";
import { afterAll, expect, test } from "vitest";
import { startServer } from "./server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

/** The audits, with something more accepted than they say: what is not JSON goes by Yoga's own transport. */
const auditsAccepting = (more: string) =>
  serverAudits({
    url: `${server.url}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${server.token}`);
      if (more) headers.set("accept", `${headers.get("accept") ?? "*/*"}, ${more}`);
      return fetch(url, { ...init, headers });
    },
  });

const audits = [
  ...auditsAccepting("").map((audit) => ({ ...audit, by: "our transport" })),
  ...auditsAccepting("multipart/mixed").map((audit) => ({ ...audit, by: "Yoga's transport" })),
];

test("there are 61 audits of GraphQL over HTTP, for each transport", () => {
  expect(audits).toHaveLength(122);
});

for (const audit of audits) {
  test(`follows GraphQL over HTTP by ${audit.by}: ${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    expect({ status: result.status, reason: "reason" in result ? result.reason : undefined }).toEqual({
      status: "ok",
    });
  });
}

test.each([
  ["our transport", "application/json"],
  ["Yoga's transport", "application/json, multipart/mixed"],
])("by %s a mutation is executed once, and answered in the type that was asked for", async (_, accept) => {
  const count = async () => (await server.database.read.selectFrom("Log").select(["id"]).execute()).length;
  const before = await count();
  const query = 'mutation { logPrompt(input: {slug: "country-guide", output: 1}) { log { id } } }';
  const { status, headers, body } = await server.graphql(query, {}, { headers: { accept } });
  expect({ status, type: headers["content-type"] }).toEqual({
    status: 200,
    type: "application/json; charset=utf-8",
  });
  expect(body.data.logPrompt.log.id).toBeTypeOf("string");
  expect(await count()).toBe(before + 1);
});
