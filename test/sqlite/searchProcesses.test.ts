import { type ChildProcess, fork } from "node:child_process";
import { expect, test, vi } from "vitest";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

vi.mock("node:child_process", { spy: true });

test("the processes that search end with the service", async () => {
  const server = await startServer();
  await addLogs(server, 1, () => ({}));
  const { body } = await server.graphql('{ logs(filter: { text: "word" }) { nodes { id } } }');
  expect(body.errors).toBeUndefined();
  const processes = vi.mocked(fork).mock.results.map(({ value }): ChildProcess => value);
  expect(processes.map(({ signalCode }) => signalCode)).toEqual([null]);
  await server[Symbol.asyncDispose]();
  await expect
    .poll(() => processes.map(({ signalCode }) => signalCode), { timeout: 30_000 })
    .toEqual(["SIGKILL"]);
});
