import { expect, test } from "vitest";
import { newId } from "../../src/database/ids.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addLogs } from "../support/logs.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

test.skipIf(isOnPostgresql)(
  "on SQLite, logs that are committed together come into the full-text index as one piece, not as one each to be merged",
  async () => {
    await using server = await startServer();
    const { database } = server;
    const piecesOf = async (count: number) => {
      const pieces = () =>
        database.orm.em
          .fork()
          .execute<{ count: number }[]>("select count(distinct segid) as count from log_texts_idx");
      const [before] = await pieces();
      await addLogs(server, count, (at) => ({ output: `together ${at}` }));
      const [after] = await pieces();
      return after!.count - before!.count;
    };
    expect(await piecesOf(50)).toBe(1);
    expect(await piecesOf(1)).toBe(1);
    const found = await database.orm.em
      .fork()
      .execute("select count(*) as count from log_texts where log_texts match 'together'");
    expect(found).toEqual([{ count: 51 }]);
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, the full-text index keeps removed words until half of a segment is removed",
  async () => {
    await using server = await startServer();
    const stored = await server.database.orm.em
      .fork()
      .execute("select v from log_texts_config where k = 'deletemerge'");
    expect(stored).toEqual([{ v: 50 }]);
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, what a removal of logs leaves to merge in the full-text index is merged in its steps, not by later writes",
  async () => {
    await using server = await startServer();
    const word = (n: number) => (n * 7_919 + 1_000_000).toString(36);
    const output = (log: number) => Array.from({ length: 2_000 }, (_, n) => word(log * 2_000 + n)).join(" ");
    for (let n = 0; n < 8; n++)
      await addLogs(server, 50, (at) => ({ output: output(n * 50 + at), startTime: new Date("2020-01-01") }));
    const { database } = server;
    const mergeWords = () => database.dialect.runSteps(database.orm, database.dialect.mergeWords!);
    const prune = "mutation($before: DateTime!) { pruneTraces(input: { before: $before }) { traces } }";
    expect(await server.run(prune, { before: "2021-01-01" })).toMatchObject({ traces: 400 });
    expect(await mergeWords()).toBe(false);
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, what spans that are sent again leave to merge in the full-text index is merged with them",
  async () => {
    await using server = await startServer();
    const word = (n: number) => (n * 7_919 + 1_000_000).toString(36);
    const ids = Array.from({ length: 100 }, () => newSpan());
    const sent = (round: number) =>
      ids.map(({ traceId, spanId }, at) => {
        const words = Array.from({ length: 2_000 }, (_, n) => word((round * 100 + at) * 2_000 + n)).join(" ");
        const attributes = [{ key: "gen_ai.output.messages", value: { stringValue: words } }];
        return newSpan({ traceId, spanId, attributes });
      });
    const { database } = server;
    const mergeWords = () => database.dialect.runSteps(database.orm, database.dialect.mergeWords!);
    for (const round of [0, 1, 2, 3])
      expect(await send(server, encodeSpans(sent(round)))).toMatchObject({ status: 200 });
    expect(await mergeWords()).toBe(false);
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, logs whose transaction ends while they are stored leave neither rows nor words",
  async () => {
    await using server = await startServer();
    const { database } = server;
    const { log } = (await server.post("/monitor/log", { slug: "s", output: "before" })).body;
    const workspace = await getWorkspaceId(database, "default");
    const stored = await database.read.selectFrom("Log").selectAll().executeTakeFirstOrThrow();
    expect(stored.id).toBe(log.id);
    const pieces = ["one", "two", "three"].map((output) => [
      ["Log", { ...stored, id: newId(), output, searchId: null }] as ["Log", typeof stored],
    ]);
    const count = (table: string) => database.orm.em.fork().execute(`select count(*) as rows from ${table}`);
    const counts = () => Promise.all(["logs", "log_texts_docsize"].map(count));
    const before = await counts();
    for (const endsAt of [0, 2, 5]) {
      const holder = database.fork(workspace);
      await holder.begin();
      const em = database.fork(workspace);
      em.setTransactionContext(holder.getTransactionContext());
      let pauses = 0;
      const pause = async () => {
        pauses += 1;
        if (pauses === endsAt) await holder.rollback(); // as at the time limit of a request with an Idempotency-Key
        return pauses === endsAt;
      };
      const storing = em.fork({ keepTransactionContext: true }).transactional(async (nested) => {
        if (endsAt === 0) await holder.rollback(); // while the caller prepares what it stores
        await database.insertInPieces(nested, pieces, pause);
      });
      await expect(storing).rejects.toThrow("The transaction has ended");
      expect(await counts()).toEqual(before);
    }
  },
);
