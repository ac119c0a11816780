import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openFolder } from "../support/commandLine.ts";
import { program } from "../support/program.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
});
afterAll(() => at.close());

const OBSERVATIONS = 4_000;

const hex = (n: number, digits: number) => n.toString(16).padStart(digits, "0");

/** An observation of Langfuse; twenty are a trace. */
const observation = (n: number) => ({
  id: hex(n + 1, 16),
  traceId: hex(Math.floor(n / 20) + 1, 32),
  parentObservationId: n % 20 === 0 ? null : hex(n - (n % 20) + 1, 16),
  ...{ type: "GENERATION", name: `call ${n}`, input: `question ${n}`, output: `answer ${n}` },
  ...{ model: "gpt-4o-mini", usageDetails: { input: n % 7, output: 1 } },
  startTime: new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString(),
});

const logs = async (): Promise<Record<string, unknown>[]> =>
  (await at.contextOf()).database.orm.em
    .fork()
    .execute("select id, trace_id, name, parent_external_id, cost from logs order by id");

test("an import that is killed is complete after the next one, and holds nothing twice", {
  timeout: 120_000,
}, async () => {
  const lines = Array.from({ length: OBSERVATIONS }, (_, n) => JSON.stringify(observation(n)));
  await writeFile(at.path("observations.jsonl"), lines.join("\n"));
  const args = [program, "import", "langfuse", "observations.jsonl"];
  const child = spawn(process.execPath, args, { cwd: at.folder, env: { PATH: process.env.PATH } });
  const ended = once(child, "exit");
  await vi.waitFor(async () => expect((await logs()).length).toBeGreaterThan(0), {
    timeout: 60_000,
    interval: 20,
  });
  child.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
  const before = await logs();
  expect(before.length).toBeLessThan(OBSERVATIONS);

  const report = async () =>
    JSON.parse((await at.gabbro("import", "langfuse", "observations.jsonl", "--json")).stdout);
  expect(await report()).toMatchObject({
    spans: { added: OBSERVATIONS - before.length, changed: 0, unchanged: before.length },
    refused: 0,
  });
  const stored = await logs();
  expect(stored).toHaveLength(OBSERVATIONS);
  expect(new Set(stored.map(({ name }) => name)).size).toBe(OBSERVATIONS);
  expect(new Set(stored.map((log) => log.trace_id)).size).toBe(OBSERVATIONS / 20);

  expect(await report()).toMatchObject({ spans: { added: 0, changed: 0, unchanged: OBSERVATIONS } });
  expect(await logs()).toEqual(stored);
});
