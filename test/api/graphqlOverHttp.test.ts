import { serverAudits } from "graphql-http";
import { afterAll, expect, test } from "vitest";
import { subscribe } from "../support/events.ts";
import { startServer } from "../support/server.ts";

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

test("a stored object with a member that promises have is an object like others, by POST, by GET and by events", async () => {
  const output = JSON.parse('{"then":1,"catch":"x","finally":null}');
  await using events = await subscribe(server, "subscription { logAdded { output } }");
  const { body } = await server.post("/monitor/log", { slug: "country-guide", output });
  const query = `{ log(id: "${body.log.id}") { output } }`;
  const answers = [
    await server.graphql(query),
    await server.get(`/graphql?query=${encodeURIComponent(query)}`),
  ];
  for (const answer of answers) expect(answer.body).toEqual({ data: { log: { output } } });
  expect(await events.next()).toEqual({ data: { logAdded: { output } } });
});
