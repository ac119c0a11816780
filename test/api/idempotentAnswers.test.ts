import { createCipheriv, hkdfSync, randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { storedTime } from "../../src/database/times.ts";
import { passTurns } from "../../src/limits/turns.ts";
import { deleteOldResponses } from "../../src/workspaces/idempotency.resolvers.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset, addToken } from "../support/data.ts";
import { type Answer, isOnPostgresql, type Server, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const keyed = (key: string, token?: string) => ({
  headers: { "idempotency-key": key },
  ...(token !== undefined && { token }),
});
const log = (output: string) => ({ slug: "guide", output });
const execute = ({ database }: Server, statement: string) => database.orm.em.fork().execute(statement);

/** An answer of four times its text is over a megabyte longer than its request, so nothing of the request is stored. */
const LONG = "x".repeat(1_100_000);
const REFUSED = [{ message: expect.stringMatching(/^Nothing was stored/) }];

test("a stored answer opens only with the token that got it, whoever's it is made in the database", async () => {
  const create = 'mutation { createAccessToken(input: { name: "sealed", scopes: [READ] }) { token } }';
  const { id, token } = await addToken(server, { scopes: ["read", "write", "admin"] });
  const first = await server.graphql(create, {}, keyed("sealed"));
  await execute(server, `update idempotent_answers set token_id = '${id}'`);
  const { body } = await server.graphql(create, {}, keyed("sealed", token));
  expect(body.errors).toMatchObject([{ extensions: { code: "INTERNAL" } }]);
  expect(JSON.stringify(body)).not.toContain(first.body.data.createAccessToken.token);
});

test("an answer is stored as it is, without escapes, and given again; also one that an earlier version stored", async () => {
  await addDataset(server, { slug: "quoted", columns: [{ name: "a", type: "text" }] });
  const values = { a: '"'.repeat(500_000) };
  const send = () => server.post("/datasets/quoted/items", { values }, keyed("quoted"));
  const first = await send();
  expect(first.body.datasetRow.values).toEqual(values);
  expect((await send()).body).toEqual(first.body);
  const { id, answer } = await server.database.read
    .selectFrom("IdempotentAnswer")
    .select(["id", "answer"])
    .orderBy("createdAt", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
  const bytes = Buffer.byteLength(JSON.stringify(first.body));
  expect(answer.length).toBeLessThan(1.5 * bytes); // base64
  const secret = new Uint8Array(hkdfSync("sha256", server.token, "quoted", "gabbro idempotent answer", 32));
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", secret, iv);
  const earlier = { status: 201, headers: { "content-type": "application/json" }, body: '{"earlier":"\\n"}' };
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(earlier)), cipher.final()]);
  const stored = Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString("base64");
  await execute(server, `update idempotent_answers set answer = '${stored}' where id = '${id}'`);
  expect((await send()).body).toEqual({ earlier: "\n" });
});

test("long answers of a workspace are given again one after another, and a request with a key of another reads none", async () => {
  await addDataset(server, { slug: "long", columns: [{ name: "a", type: "text" }] });
  const rows = Array.from({ length: 25 }, (_, n) => `r${n}: datasetRow { values }`).join(" ");
  const mutation = `mutation($a: JSON!) { addDatasetItem(slug: "long", input: { values: { a: $a } }) { ${rows} } }`;
  const send = (key: string, a = "x".repeat(12_000)) => server.graphql(mutation, { a }, keyed(key));
  const keys = ["long-1", "long-2", "long-3"];
  const first: Answer[] = [];
  for (const key of keys) first.push(await send(key));
  const stop = await captureStatements(server);
  expect((await send("long-1", "y")).body.errors).toMatchObject([{ extensions: { code: "CONFLICT" } }]);
  const ofAnswers = stop().filter(({ sql }) => sql.includes("idempotent_answers"));
  expect(ofAnswers).toMatchObject([{ sql: expect.stringContaining("octet_length") }]);

  const reading: (() => void)[] = [];
  const turn = vi.spyOn(server.database, "turn").mockImplementation(async () => {
    const isReading = new Error().stack!.includes("idempotency.resolvers"); // else it is being sent
    if (isReading) await new Promise<void>((resolve) => void reading.push(resolve));
  });
  onTestFinished(() => {
    turn.mockRestore();
    for (const read of reading) read();
  });
  const answers = keys.map((key) => send(key));
  for (const _ of keys) {
    await expect.poll(() => reading.length).toBe(1);
    await passTurns();
    expect(reading.length).toBe(1);
    reading.pop()!();
  }
  for (const [n, { body, headers }] of (await Promise.all(answers)).entries()) {
    expect(body).toEqual(first[n]!.body);
    expect(headers["idempotent-replayed"]).toBe("true");
  }
});

test("of twenty requests that come at once with one key, one is carried out and the others wait for it", async () => {
  await addDataset(server, { slug: "quiz", columns: [{ name: "a", type: "text" }] });
  const send = () => server.post("/datasets/quiz/items", { values: { a: "1" } }, keyed("at-once"));
  const stop = await captureStatements(server);
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  const undone = stop().filter(({ sql }) => /^rollback/i.test(sql));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
  expect(undone).toEqual([]);
});

test("a subscriber gets nothing that was not stored", async () => {
  const { pubSub } = server.database;
  const [workspace] = await execute(server, "select id from workspaces where name = 'default'");
  const listening = pubSub.listen({ workspaceId: workspace!.id, tokenId: null });
  const first = listening.next();
  const mutation =
    "mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { a: output b: output c: output d: output } } }";
  const refused = await server.graphql(mutation, { input: log(LONG) }, keyed("untold"));
  expect(refused.body.errors).toMatchObject(REFUSED);
  const stored = await server.post("/monitor/log", log("stored"), keyed("stored"));
  expect((await first).value.id).toBe(stored.body.log.id);
  await listening.return(undefined);
});

/** Statements that make every commit of an answer fail, and those that undo them. */
const BROKEN_COMMIT = isOnPostgresql
  ? {
      break: [
        "create table unmet (parent uuid references workspaces (id) deferrable initially deferred)",
        `create function fail_later() returns trigger language plpgsql as
          $$ begin insert into unmet values (gen_random_uuid()); return new; end $$`,
        "create trigger unmet_answer after insert on idempotent_answers for each row execute function fail_later()",
      ],
      mend: ["drop trigger unmet_answer on idempotent_answers"],
    }
  : {
      break: [
        "create table unmet (parent text references workspaces (id) deferrable initially deferred)",
        "create trigger unmet_answer after insert on idempotent_answers begin insert into unmet values ('x'); end",
      ],
      mend: ["drop trigger unmet_answer"],
    };

test("a log is published after its commit, so that no subscriber gets one whose commit fails", async () => {
  await using own = await startServer();
  const [workspace] = await execute(own, "select id from workspaces where name = 'default'");
  const listening = own.database.pubSub.listen({ workspaceId: workspace!.id, tokenId: null });
  const first = listening.next();
  for (const statement of BROKEN_COMMIT.break) await execute(own, statement);
  const failed = await own.post("/monitor/log", log("lost"), keyed("lost"));
  expect(failed).toMatchObject({ status: 500, body: { code: "INTERNAL" } });
  for (const statement of BROKEN_COMMIT.mend) await execute(own, statement);
  const stored = await own.post("/monitor/log", log("stored"), keyed("stored"));
  expect((await first).value.id).toBe(stored.body.log.id);
  await listening.return(undefined);
});

test("what a refused request has read of its own changes is cached for no other request with a key", async () => {
  const mutation = (slug: string, fields: string) => `mutation ($input: LogPromptInput!) {
    createPrompt(input: { slug: "${slug}" }) { prompt { slug } }
    logPrompt(input: $input) { warning ${fields} }
  }`;
  const input = { slug: "refused", output: LONG };
  const long = "log { a: output b: output c: output d: output }";
  const refused = await server.graphql(mutation("refused", long), { input }, keyed("refused"));
  expect(refused.body.errors).toMatchObject(REFUSED);
  const { body } = await server.graphql(
    mutation("accepted", ""),
    { input: { ...input, output: "o" } },
    keyed("accepted"),
  );
  expect(body.data.logPrompt.warning).toMatch(/^Prompt "refused" does not exist/);
});

test("what a request has read of its own changes is cached for nobody before they are stored", async () => {
  const mutation = `mutation ($input: JSON!) {
    createPrompt(input: { slug: "phantom" }) { prompt { slug } }
    logPrompt(input: { slug: "phantom", input: $input, output: "o" }) { warning }
  }`;
  let isOver = false;
  const input = "to be counted ".repeat(20_000);
  const answered = server.graphql(mutation, { input }, keyed("phantom")).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const { status } = await server.get("/prompts/phantom/describe");
    const prompts = server.database.read.selectFrom("Prompt").select("id");
    const stored = await prompts.where("slug", "=", "phantom").execute();
    expect([status, stored.length]).not.toEqual([200, 0]);
  }
  expect((await answered).body.errors).toBeUndefined();
  expect((await server.get("/prompts/phantom/describe")).status).toBe(200);
});

const DAY_MS = 24 * 3_600_000;
/** Makes the only stored answer as old as that. */
async function age({ database }: Server, ms: number) {
  const createdAt = storedTime(database, new Date(Date.now() - ms));
  const table = database.orm.em
    .fork()
    .getKysely()
    .updateTable("idempotent_answers" as never);
  await table.set({ created_at: createdAt } as never).execute();
}
const countIn = async (of: Server) => {
  const rows = await execute(of, "select id from idempotent_answers");
  return rows.length;
};

test.each([
  ["a minute less than 24 hours is given again, and not cleared away", DAY_MS - 60_000, "true", 1],
  ["24 hours is made anew, and cleared away", DAY_MS, undefined, 0],
])("an answer of %s", async (_, ms, replayed, left) => {
  await using own = await startServer();
  const send = () => own.post("/monitor/log", log("old"), keyed("old"));
  await send();
  await age(own, ms);
  expect((await send()).headers["idempotent-replayed"]).toBe(replayed);
  await age(own, ms);
  await deleteOldResponses(own.database, new AbortController().signal);
  expect(await countIn(own)).toBe(left);
});

test("long answers after many short ones are cleared away 16 MB at a time", async () => {
  await using own = await startServer();
  const workspace = await getWorkspaceId(own.database, "default");
  const answers = [...Array(200).fill("x"), ...Array(12).fill("x".repeat(3_000_000))];
  const begunMs = Date.now() - 2 * DAY_MS;
  for (const [n, answer] of answers.entries()) {
    const hash = String(n).padStart(64, "0");
    const ids = { id: uuidv7(), workspace, tokenId: uuidv7(), keyHash: hash, requestHash: hash };
    await own.database.commit([["IdempotentAnswer", { ...ids, answer, createdAt: new Date(begunMs + n) }]]);
  }
  const stop = await captureStatements(own);
  await deleteOldResponses(own.database, new AbortController().signal);
  const removals = stop().filter(({ sql }) => /^delete from .idempotent_answers/.test(sql));
  expect(removals.length).toBeGreaterThanOrEqual(8); // 200 short ones take 6, into the last of which the long ones would fit
});

test("a service clears away within a minute what is too old to be given again", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    await using own = await startServer();
    await own.post("/monitor/log", log("old"), keyed("old"));
    await age(own, DAY_MS);
    vi.advanceTimersByTime(60_000);
    await vi.waitUntil(async () => (await countIn(own)) === 0, { interval: 5, timeout: 30_000 });
  } finally {
    vi.useRealTimers();
  }
});
