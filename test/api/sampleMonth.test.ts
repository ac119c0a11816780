import { expect, it } from "vitest";
import { addSampleMonth } from "../../src/sample/month.ts";
import { removeSample } from "../../src/sample/removal.resolvers.ts";
import { contextWithoutToken, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

const NOON = Date.UTC(2026, 4, 20, 12);

async function withMonth() {
  const server = await startServer({ sample: true });
  const workspaceId = await getWorkspaceId(server.database, "default");
  await addSampleMonth(contextWithoutToken(server.database, workspaceId, "sample"), NOON);
  return { server, workspaceId };
}

const range = { from: "2026-04-20T00:00:00Z", to: "2026-05-21T00:00:00Z" };
const usageBy = (group: string) =>
  `query($from: DateTime!, $to: DateTime!) { usage(from: $from, to: $to, groupBy: ${group}) { nodes { key logs cost unpricedLogs } } }`;
interface Usage {
  key: string;
  logs: number;
  cost: number;
  unpricedLogs: number;
}

interface Log {
  status: string;
  variables: { label: string }[] | null;
}

it("the month of the sample has priced calls of each day until now, of several models and versions", async () => {
  const { server } = await withMonth();
  await using _ = server;
  const days: Usage[] = await server.run(usageBy("DAY"), range);
  expect(days.map(({ key }) => key)).toEqual(
    Array.from({ length: 31 }, (_, n) => new Date(Date.UTC(2026, 3, 20 + n)).toISOString().slice(0, 10)),
  );
  for (const { logs, cost, unpricedLogs } of days)
    expect([logs > 5, cost > 0, unpricedLogs]).toEqual([true, true, 0]);
  const models: Usage[] = await server.run(usageBy("MODEL"), range);
  expect(models.map(({ key }) => key).toSorted()).toEqual(["claude-sonnet-4-5", "gpt-4o-mini", "gpt-5-mini"]);
  const versions: Usage[] = await server.run(usageBy("VERSION"), range);
  expect(versions.filter(({ key }) => key !== null)).toHaveLength(4);
  const { nodes } = (
    await server.graphql(
      '{ logs(first: 100, filter: { slug: ["country-guide"] }) { nodes { status output variables { label value } } } }',
    )
  ).body.data.logs;
  expect(
    nodes.filter(({ variables }: Log) => variables?.some(({ label }) => label === "country")),
  ).toHaveLength(100);
  expect(nodes.filter(({ status }: Log) => status === "ERROR").length).toBeGreaterThan(0);
});

it("what has a slug of the sample and is somebody's own stays", async () => {
  await using server = await startServer();
  await server.run(
    'mutation { createDataset(input: { slug: "country-quiz", columns: [] }) { dataset { id } } }',
  );
  await server.run('mutation { createPrompt(input: { slug: "country-guide" }) { prompt { id } } }');
  const workspaceId = await getWorkspaceId(server.database, "default");
  expect(await removeSample(contextWithoutToken(server.database, workspaceId, "test"))).toBe(0);
  const { body } = await server.graphql("{ prompts { nodes { slug } } datasets { nodes { slug } } }");
  expect(body.data).toEqual({
    prompts: { nodes: [{ slug: "country-guide" }] },
    datasets: { nodes: [{ slug: "country-quiz" }] },
  });
});

it("the sample is removed whole, and nothing else with it", async () => {
  const { server, workspaceId } = await withMonth();
  await using _ = server;
  await server.post("/monitor/log", { slug: "country-guide", output: "of a real application" });
  const removed = await removeSample(contextWithoutToken(server.database, workspaceId, "test"));
  expect(removed).toBeGreaterThan(500);
  const { body } = await server.graphql(
    "{ prompts { nodes { slug } } datasets { nodes { slug } } traces(first: 5) { nodes { name } } logs { nodes { output } } }",
  );
  expect(body.data).toEqual({
    prompts: { nodes: [] },
    datasets: { nodes: [] },
    traces: { nodes: [{ name: "country-guide" }] },
    logs: { nodes: [{ output: "of a real application" }] },
  });
});

it("the audit log has one entry for the traces of a sample that is removed, which is no run of the retention", async () => {
  const { server, workspaceId } = await withMonth();
  await using _ = server;
  const context = contextWithoutToken(server.database, workspaceId, "test");
  const pruned = await server.graphql(
    'mutation { pruneTraces(input: { before: "2026-04-25T00:00:00Z" }) { traces } }',
  );
  const removed = await removeSample(context);
  expect(await removeSample(context)).toBe(0);
  const { body } = await server.graphql(
    "{ auditLog(first: 9) { nodes { action subject after } } retention { lastRun { removed } } }",
  );
  const entries = body.data.auditLog.nodes.filter(
    ({ action }: { action: string }) => action === "removeSample",
  );
  const after = { environment: "gabbro-sample", removed };
  expect(entries).toEqual([{ action: "removeSample", subject: "traces", after }]);
  expect(body.data.retention.lastRun).toEqual({ removed: pruned.body.data.pruneTraces.traces });
});

it.skipIf(isOnPostgresql)(
  "on SQLite, the audit log has an entry for what a removal of the sample has removed before an error ends it",
  async () => {
    const { server, workspaceId } = await withMonth();
    await using _ = server;
    const run = (statement: string) => server.database.orm.em.fork().execute(statement);
    const count = async () => (await run("select id from traces")).length;
    const before = await count();
    await run(
      `create trigger fails before delete on traces when (select count(*) from traces) < ${before - 100} begin select raise(abort, 'fails'); end`,
    );
    await expect(removeSample(contextWithoutToken(server.database, workspaceId, "test"))).rejects.toThrow();
    const removed = before - (await count());
    expect(removed).toBeGreaterThan(0);
    const { body } = await server.graphql("{ auditLog(first: 1) { nodes { action after } } }");
    const after = { environment: "gabbro-sample", removed };
    expect(body.data.auditLog.nodes).toEqual([{ action: "removeSample", after }]);
  },
);
