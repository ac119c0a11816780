import { afterAll, expect, test, vi } from "vitest";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { newToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addToken, addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const CHECKUP = "{ checkup { findings { problem advice } findingCount newestStartTime } }";
const LOG = { slug: "guide", output: "b" };
const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

test("a workspace in which calls arrive and nothing is rejected has no finding", async () => {
  await using own = await startServer();
  const startTime = "2026-11-01T12:00:00.000Z";
  await own.post("/monitor/log", { ...LOG, startTime });
  expect(await own.run(CHECKUP)).toEqual({ findings: [], findingCount: 0, newestStartTime: startTime });
});

test("what a client sent in vain is a finding with the client, the reason and what to do, in its workspace alone", async () => {
  const other = await addWorkspace(server, "other");
  const headers = { "user-agent": "our-bot/2" };
  const { body } = await server.post("/datasets/none/items", { values: {} }, { headers });
  const finding = {
    problem: `POST /datasets/:slug/items rejected 1 request of our-bot/2 within the last day: ${body.error}`,
    advice: expect.stringContaining("Create the dataset, or correct its slug"),
  };
  await vi.waitFor(async () => {
    await storeRejected(server.database); // what was recorded, which may be after the client has its answer
    expect((await server.run(CHECKUP)).findings).toEqual([finding]);
  }, 30_000);
  // That a token was used is stored after the answer, and until then nothing has arrived.
  await expect
    .poll(() => server.run(CHECKUP, {}, other.token))
    .toMatchObject({ findings: [], newestStartTime: null });
});

test("a token needs both of the scopes read and admin", async () => {
  for (const scope of ["read", "admin"] as const) {
    const { token } = await addToken(server, { scopes: [scope] });
    expect(await server.run(CHECKUP, {}, token)).toMatchObject({ error: { code: "FORBIDDEN" } });
  }
});

test("tokens are read 500 at a time, without those that were revoked, and those that expired lately are findings", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", LOG);
  const workspace = await getWorkspaceId(own.database, "default");
  const expiresAt = new Date(Date.now() - 60_000);
  const rows = Array.from({ length: 1_800 }, (_, n) => ({
    ...newToken(workspace, { name: `t${n}`, scopes: ["read" as const], expiresAt }).row,
    revokedAt: n % 3 === 0 ? expiresAt : null,
  }));
  await own.database.commit(rows.map((row) => ["AccessToken", row]));
  const turn = vi.spyOn(own.database, "turn");
  const stop = await captureStatements(own);
  const { findings, findingCount } = await own.run(CHECKUP);
  const reads = stop().filter(({ sql }) => /from ["`]access_tokens["`].* order by/s.test(sql));
  expect([findings.length, findingCount, reads.length]).toEqual([100, 1_200, 3]);
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(2);
  turn.mockRestore();
});

test("the first 100 findings come, the most frequent first, with the number of all within a day", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", LOG); // else "nothing has arrived" may be a finding, too
  const workspace = await getWorkspaceId(own.database, "default");
  const now = Date.now();
  const item = (n: number, ageMs: number) => ({
    ...{ id: `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`, workspace },
    ...{ createdAt: new Date(now - ageMs), count: n, endpoint: "POST /monitor/log", code: "BAD_INPUT" },
    ...{ client: null, reason: `Reason ${n}.`, sample: null },
  });
  const items = Array.from({ length: 600 }, (_, n) => item(n + 1, 60_000));
  const old = item(1_000, 25 * 60 * 60 * 1_000);
  await own.database.commit([...items, old].map((row) => ["RejectedItem", row]));
  const { findings, findingCount } = await own.run(CHECKUP);
  expect([findings.length, findingCount]).toEqual([100, 600]);
  const problem = (n: number) => `POST /monitor/log rejected ${n} requests within the last day: Reason ${n}.`;
  expect([findings[0].problem, findings[99].problem]).toEqual([problem(600), problem(501)]);
});
