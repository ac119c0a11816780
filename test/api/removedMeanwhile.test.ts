import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, test, vi } from "vitest";
import { Trace } from "../../src/logs/entities.ts";
import { traceOf } from "../../src/logs/resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const workspaceId = await getWorkspaceId(server.database, "default");

/** Asks, and removes all traces and logs once a column was measured, before it is read. */
async function askWhileRemoving(query: string, column: string) {
  await addLogs(server, 3, () => ({ metadata: { a: 1 }, output: "x" }));
  const { rows, fork } = server.database;
  const reads = new RegExp(`^select (?!.*octet_length).*[\`"]${column}[\`"] as `, "is");
  const read = vi.spyOn(server.database, "rows").mockImplementation(async (compilable) => {
    if (reads.test(compilable.compile().sql)) {
      read.mockRestore();
      await fork(workspaceId).nativeDelete(Trace, { workspace: workspaceId });
    }
    return rows(compilable);
  });
  const { status, body } = await server.graphql(query);
  expect(vi.isMockFunction(server.database.rows)).toBe(false); // it was removed
  return {
    status,
    codes: body.errors?.map(({ extensions }: { extensions: { code: string } }) => extensions.code),
  };
}

test.each([
  ["a name, which no trace lacks", "{ traces { edges { node { name } } } }", "name"],
  [
    "metadata, which would look as if there had never been any",
    "{ traces { nodes { metadata } } }",
    "metadata",
  ],
])("a trace that is removed while it is listed is not found: %s", async (_, query, column) => {
  const { status, codes } = await askWhileRemoving(query, column);
  expect(status).toBe(200);
  expect(new Set(codes)).toEqual(new Set(["TRACE_NOT_FOUND"]));
});

test("a log that is removed while it is listed is not found", async () => {
  const { codes } = await askWhileRemoving("{ logs { nodes { output } } }", "output");
  expect(new Set(codes)).toEqual(new Set(["LOG_NOT_FOUND"]));
});

test("a trace that is removed after its log was read is not found, and no fault of the service", async () => {
  const context = commandLineContext(server.database, workspaceId);
  const [log] = (await addLogs(server, 1, () => ({}))).rows;
  const reading = traceOf(context, { ...log!, trace: uuidv7() } as never);
  await expect(reading).rejects.toMatchObject({ code: "TRACE_NOT_FOUND" });
});
