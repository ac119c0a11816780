import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished } from "vitest";
import { writeQueueOf } from "../../src/database/writeQueue.ts";
import { type Log, Trace } from "../../src/logs/entities.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import type { Server } from "./server.ts";

const AT_ONCE = 500;

type NewLog = Partial<Omit<Log, "id" | "workspace" | "trace" | "prompt">>;

/** Stores many logs at once, each with a trace of its own, as a day of an application would leave them. */
export async function addLogs({ database }: Server, count: number, make: (at: number) => NewLog) {
  const workspace = await getWorkspaceId(database, "default");
  const rows = Array.from({ length: count }, (_, at) => {
    const startTime = new Date();
    return {
      ...empty,
      startTime,
      createdAt: startTime,
      ...make(at),
      id: uuidv7(),
      workspace,
      trace: uuidv7(),
    };
  });
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const some = rows.slice(from, from + AT_ONCE);
    await database.commit([
      ...some.map(
        ({ trace, startTime, createdAt }) =>
          ["Trace", { ...bare, id: trace, workspace, startTime, createdAt }] as const,
      ),
      ...some.map((row) => ["Log", row] as const),
    ] as Parameters<typeof database.commit>[0]);
  }
  return { rows, ids: rows.map(({ id }) => id) };
}

const bare = { name: "made", organization: null, user: null, metadata: null, endTime: null };

const empty = {
  type: "generation" as const,
  prompt: null,
  promptSlug: "made",
  version: null as string | null,
  tag: null as string | null,
  provider: null as string | null,
  model: null as string | null,
  userId: null as string | null,
  organizationId: null as string | null,
  input: null as unknown,
  output: "ok" as unknown,
  idealOutput: null,
  variables: null,
  metadata: null as Record<string, unknown> | null,
  endTime: null as Date | null,
  latencyMs: null as number | null,
  inputTokens: null as number | null,
  outputTokens: null as number | null,
  cost: null as number | null,
  costSource: "UNPRICED" as Log["costSource"],
  searchId: null,
};

export const LOGS =
  "query($f: LogFilter, $n: Int, $a: String) { logs(filter: $f, first: $n, after: $a) { edges { cursor node { id trace { name } } } } }";
export const TRACES =
  "query($f: LogFilter, $n: Int, $a: String) { traces(filter: $f, first: $n, after: $a) { nodes { id name } } }";

interface Listed {
  id: string;
  cursor: string;
  name: string;
}

export const names = (listed: Listed[]) => listed.map(({ name }) => name);

/** Lists logs of a server by a filter, how many, after which, and with the names of their traces. */
export const logLister =
  (server: Server) =>
  async (f?: object, n?: number, a?: string, token?: string): Promise<Listed[]> => {
    const logs = await server.run(LOGS, { f, n, a }, token);
    expect(logs.error).toBeUndefined();
    const edges: { cursor: string; node: { id: string; trace: { name: string } } }[] = logs.edges;
    return edges.map(({ cursor, node: { id, trace } }) => ({ id, cursor, name: trace.name }));
  };

/** Sends a long trace by `store`, and removes it once the first of its transactions is committed. Returns the answer. */
export async function removeWhileStored<Answer>(
  { database }: Server,
  store: () => Promise<Answer>,
): Promise<Answer> {
  const queue = writeQueueOf(database.orm.em)!;
  const workspaceId = await getWorkspaceId(database, "default");
  const begin = await queue.acquire(workspaceId);
  onTestFinished(begin); // or what fails here would wait for ever
  const stored = store();
  await expect.poll(() => queue.waiting()).toBe(1);
  const removing = queue.acquire(workspaceId); // before its second transaction
  begin();
  const goOn = await removing;
  const em = database.fork(workspaceId);
  const [last] = await em.find(Trace, {}, { orderBy: { id: "desc" }, limit: 1 });
  expect(await em.nativeDelete(Trace, { id: last!.id })).toBe(1);
  goOn();
  return stored;
}
