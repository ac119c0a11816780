import { expect, test } from "vitest";
import { startGateway } from "../../faults/gateway.ts";
import { heard, type Server, startServer } from "../support/server.ts";

const AN_HOUR_AHEAD = "const now = Date.now; Date.now = () => now() + 3_600_000;";

/** Runs a mutation at another gateway on the same database, whose clock is an hour ahead. */
async function runAnHourAhead({ databaseUrl, token }: Server, mutation: string): Promise<void> {
  const preload = `--import=data:text/javascript,${encodeURIComponent(AN_HOUR_AHEAD)}`;
  const gateway = await startGateway({ databaseUrl, env: { NODE_OPTIONS: preload } });
  try {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ query: `mutation { ${mutation} }` }),
    });
    expect(await response.json()).toEqual({ data: expect.anything() });
  } finally {
    await gateway.stop();
  }
}

const create = (version: string) =>
  `createPromptVersion(slug: "guide", input: { version: "${version}", text: "${version}" }) { promptVersion { id createdAt } }`;
const publish = (to: string) =>
  `publishPrompt(slug: "guide", input: { newTag: "production", to: { ${to} } }) { promptTag { version } }`;
const rollback = 'rollbackPromptTag(slug: "guide", input: { tag: "production" }) { promptTag { version } }';

/** A prompt whose version 1.0.0 was published while the clock was an hour ahead. */
async function startWithPrompt() {
  const server = await startServer();
  await runAnHourAhead(
    server,
    `a: createPrompt(input: { slug: "guide" }) { prompt { id } } b: ${create("1.0.0")} c: ${publish('version: "1.0.0"')}`,
  );
  const served = async (query = "") => (await server.get(`/prompts/guide${query}`)).body.prompt.version;
  await heard(async () => expect(await served()).toBe("1.0.0"));
  return { server, served };
}

test("a version that is added after one of a clock that was ahead is the latest, and follows it in pages", async () => {
  const { server, served } = await startWithPrompt();
  await using _ = server;
  const page = async (after: string | null) => {
    const list = "versions(first: 2, after: $after) { nodes { version } pageInfo { endCursor } }";
    const query = `query($after: String) { prompt(slug: "guide") { ${list} } }`;
    const { versions } = await server.run(query, { after });
    return { ...versions, nodes: versions.nodes.map((node: { version: string }) => node.version) };
  };
  const { nodes, pageInfo } = await page(null);
  expect(nodes).toEqual(["1.0.0"]);

  const both = `mutation { a: ${create("2.0.0")} b: ${create("3.0.0")} }`;
  const inOneTransaction = { headers: { "idempotency-key": "both" } };
  expect((await server.graphql(both, {}, inOneTransaction)).body.errors).toBeUndefined();
  expect((await page(pageInfo.endCursor)).nodes).toEqual(["2.0.0", "3.0.0"]);
  expect((await page(null)).nodes).toEqual(["1.0.0", "2.0.0"]);
  expect(await served("?tag=latest")).toBe("3.0.0");
  expect(await server.run(`mutation { ${publish('tag: "latest"')} }`)).toEqual({ version: "3.0.0" });
  expect(await served()).toBe("3.0.0");
});

test("a rollback takes back the last move of a tag, also when the one before is of a clock that was ahead", async () => {
  const { server, served } = await startWithPrompt();
  await using _ = server;
  await server.run(`mutation { ${create("2.0.0")} }`);
  await server.run(`mutation { ${publish('version: "2.0.0"')} }`);
  expect(await served()).toBe("2.0.0");
  expect(await server.run(`mutation { ${rollback} }`)).toEqual({ version: "1.0.0" });
  expect(await served()).toBe("1.0.0");
  const { tagHistory } = await server.run('{ prompt(slug: "guide") { tagHistory { nodes { from to } } } }');
  expect(tagHistory).toEqual([
    { from: "2.0.0", to: "1.0.0" },
    { from: "1.0.0", to: "2.0.0" },
    { from: null, to: "1.0.0" },
  ]);
});
