import { expect, test, vi } from "vitest";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
const workspaceId = await getWorkspaceId(server.database, "default");
await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }] });

/** Adds a row with so many members of metadata, and returns its id. */
async function addRow(members: number): Promise<string> {
  const metadata = Object.fromEntries(Array.from({ length: members }, (_, n) => [n.toString(36), 1]));
  const query =
    'mutation($metadata: JSONObject) { addDatasetItem(slug: "rows", input: { values: {}, metadata: $metadata }) { datasetRow { id } } }';
  return (await server.graphql(query, { metadata })).body.data.addDatasetItem.datasetRow.id;
}

const ask = (id: string, times: number, accept = "application/json") => {
  const aliases = Array.from({ length: times }, (_, n) => `a${n}: metadata`);
  return server.graphql(
    `{ node(id: "${id}") { ... on DatasetRow { ${aliases.join(" ")} } } }`,
    {},
    { headers: { accept } },
  );
};

/** How often what measures and writes answers waits for a turn of the workspace; reading waits as often as time asks for. */
async function turnsDuring(request: () => Promise<unknown>) {
  const { turn } = server.database;
  const turns = { finishInTurns: 0, writtenInTurns: 0 };
  vi.spyOn(server.database, "turn").mockImplementation((id) => {
    const callers = new Error().stack!;
    for (const name of ["finishInTurns", "writtenInTurns"] as const)
      if (id === workspaceId && new RegExp(`[ .]${name} \\(`).test(callers)) turns[name] += 1;
    return turn(id);
  });
  await request();
  vi.restoreAllMocks();
  return turns;
}

test("an answer has half a million members at most, whose values are repeated by aliases", async () => {
  const id = await addRow(49_500);
  expect((await ask(id, 8)).body.errors).toBeUndefined();
  const { body } = await ask(id, 12);
  expect(body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test("a large answer is measured and written, each in turns of its workspace; a small one is not", async () => {
  const id = await addRow(20_000);
  expect((await turnsDuring(() => ask(id, 1))).finishInTurns).toBe(1);
  for (const accept of ["application/json", "application/json, multipart/mixed"]) {
    const turns = await turnsDuring(() => ask(id, 10, accept));
    expect(turns.finishInTurns).toBe(3);
    expect(turns.writtenInTurns).toBeGreaterThan(0); // and after each 10 ms
  }
  const small = await addRow(2_000);
  expect(await turnsDuring(() => ask(small, 1))).toEqual({ finishInTurns: 0, writtenInTurns: 0 });
});
