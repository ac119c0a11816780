import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { newId } from "../../src/database/ids.ts";
import { openDatabase } from "../../src/database/open.ts";
import { inRequestTransaction } from "../../src/database/requestTransaction.ts";
import { storedTime } from "../../src/database/times.ts";
import { inTransaction } from "../../src/database/transaction.ts";
import { entities } from "../../src/entities.ts";
import { GabbroError } from "../../src/errors.ts";
import { createPrompt } from "../../src/prompts/authoring.resolvers.ts";
import { deleteOldResponses, runOnce } from "../../src/workspaces/idempotency.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset, addPrompt, addToken, addWorkspace } from "../support/data.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const lines: string[] = [];
const server = await startServer({ log: (line) => lines.push(line) });
afterAll(() => server[Symbol.asyncDispose]());
await addPrompt(server, { slug: "guide", versions: [{ version: "1" }], tags: { production: "1" } });
await addDataset(server, { slug: "quiz", columns: [{ name: "question", type: "text" }] });

const keyed = (key: string, token?: string) => ({
  headers: { "idempotency-key": key },
  ...(token !== undefined && { token }),
});
const count = async (table: string, where = "true") =>
  Number(
    Object.values(
      (await server.database.orm.em.fork().execute(`select count(*) from ${table} where ${where}`))[0]!,
    )[0],
  );
/** The answer to a mutation, sent again as clients do: on a machine that stalls, one with a key is given up after a second. */
const mutate = async (mutation: string, key?: string): ReturnType<typeof server.graphql> => {
  const answer = await server.graphql(mutation, {}, key ? keyed(key) : {});
  const code = answer.body.errors?.[0].extensions.code;
  return code === "TIMED_OUT" || code === "UNAVAILABLE" ? mutate(mutation, key) : answer;
};
const logged = (output: string) => count("logs", `output = '"${output}"'`);
const log = (output: string) => ({ slug: "guide", output });
const logMutation =
  "mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { id output } trace { id logs { nodes { id } } } } }";

test.each(["REST", "GraphQL"])(
  "%s: a request sent again with its key gets its first answer, and is stored once",
  async (api) => {
    const key = `again-${api}`;
    const send = () =>
      api === "REST"
        ? server.post("/monitor/log", log(key), keyed(key))
        : server.graphql(logMutation, { input: log(key) }, keyed(key));
    const first = await send();
    expect(first.status).toBe(200);
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    const second = await send();
    expect({ ...second, headers: null }).toEqual({ ...first, headers: null });
    expect(second.headers["content-type"]).toBe(first.headers["content-type"]);
    expect(second.headers["idempotent-replayed"]).toBe("true");
    expect(await logged(key)).toBe(1);
  },
);

test("without a key nothing is guessed: the same request twice is stored twice", async () => {
  await server.post("/monitor/log", log("twice"));
  await server.post("/monitor/log", log("twice"));
  expect(await logged("twice")).toBe(2);
});

const otherRequests: [string, () => Promise<{ status: number }>][] = [
  ["another body", () => server.post("/monitor/log", log("other"), keyed("one"))],
  ["another path", () => server.post("/datasets/quiz/items", { values: { question: "one" } }, keyed("one"))],
  ["another API", () => server.graphql(logMutation, { input: log("one") }, keyed("one"))],
];
test.each(otherRequests)("a key that came with %s is a CONFLICT, and nothing is stored", async (_, send) => {
  await server.post("/monitor/log", log("one"), keyed("one"));
  const before = [await count("logs"), await count("dataset_rows")];
  expect(await send()).toMatchObject({ status: 409 });
  expect([await count("logs"), await count("dataset_rows")]).toEqual(before);
});

test.each(["REST", "GraphQL"])(
  "%s: a long request with a key is not written in one turn, and is known again",
  async (api) => {
    const question = Array.from({ length: 4_000 }, (_, n) => ({ [`name${n}`]: n }));
    const mutation =
      "mutation ($slug: String!, $input: DatasetItemInput!) { addDatasetItem(slug: $slug, input: $input) { datasetRow { id } } }";
    const send = (slug: string, key: string) => {
      const row = { values: { question } };
      if (api === "REST") return server.post(`/datasets/${slug}/items`, row, keyed(key));
      return server.graphql(mutation, { slug, input: row }, keyed(key));
    };
    const namesIn = (value: unknown): number =>
      typeof value !== "object" || value === null || value === question // the client's own
        ? 0
        : Object.entries(value).reduce(
            (sum, [key, inner]) => sum + Number(/^name\d/.test(key)) + namesIn(inner),
            0,
          );
    const stringify = vi.spyOn(JSON, "stringify");
    await send("none", `unknown-${api}`); // refused, so that nothing is stored or answered of it
    const written = stringify.mock.calls.map(([value]) => namesIn(value));
    stringify.mockRestore();
    expect(Math.max(...written)).toBeLessThan(1_000);

    const first = await send("quiz", `long-${api}`);
    const again = await send("quiz", `long-${api}`);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    expect(again.body).toEqual(first.body);
  },
);

test("the same key of another token is another key", async () => {
  const { token } = await addToken(server);
  const { token: foreign } = await addWorkspace(server, "foreign");
  const ids = [];
  for (const call of [keyed("mine"), keyed("mine", token), keyed("mine", foreign)])
    ids.push((await server.post("/monitor/log", log("mine"), call)).body.log.id);
  expect(new Set(ids).size).toBe(3);
});

test.each(["REST", "GraphQL"])(
  "%s: of fifty that come at once with one key, one is carried out and all get its answer",
  async (api) => {
    const output = `at once ${api}`;
    const send = () =>
      api === "REST"
        ? server.post("/monitor/log", log(output), keyed(`at-once-${api}`))
        : server.graphql(logMutation, { input: log(output) }, keyed(`at-once-${api}`));
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]!.status).toBe(200);
    expect(await logged(output)).toBe(1);
  },
);

test("requests that wait for one with the same key are answered in turns of their workspace, one each", async () => {
  const { database } = server;
  const workspace = await getWorkspaceId(database, "default");
  const places = Array.from({ length: isOnPostgresql ? 4 : 1 }, () =>
    database.requestTransactions.acquire(workspace),
  );
  const held = await Promise.all(places); // so that the first request waits, and all others for it
  const turn = vi.spyOn(database, "turn");
  const waitForOthers = vi.spyOn(Promise, "allSettled");
  const create = () =>
    mutate('mutation { createPrompt(input: { slug: "waited-for" }) { __typename } }', "waited-for");
  const answers = Array.from({ length: 10 }, create);
  await expect.poll(() => database.requestTransactions.waiting()).toBe(1);
  await expect.poll(() => waitForOthers.mock.calls.length).toBeGreaterThanOrEqual(9);
  waitForOthers.mockRestore();
  for (const release of held) release();
  for (const { body } of await Promise.all(answers)) expect(body.data.createPrompt).toBeTruthy();
  expect(turn.mock.calls.length).toBeGreaterThan(8);
  turn.mockRestore();
});

test("a refused request keeps no answer: mended, it may come with the same key", async () => {
  expect((await server.post("/monitor/log", { slug: 7 }, keyed("mended"))).status).toBe(400);
  expect((await server.post("/datasets/none/items", { values: {} }, keyed("mended"))).status).toBe(404);
  expect((await server.post("/monitor/log", log("mended"), keyed("mended"))).status).toBe(200);
});

test.each(["REST", "GraphQL"])(
  "%s: what was refused with a key is carried out with it once it can be",
  async (api) => {
    const version = `later-${api}`;
    const send = () =>
      api === "REST"
        ? server.post("/prompts/guide/publish", { newTag: "later", version }, keyed(version))
        : mutate(
            `mutation { publishPrompt(slug: "guide", input: { newTag: "later", to: { version: "${version}" } }) { promptTag { version } } }`,
            version,
          );
    const refused = await send();
    expect(refused.body.code ?? refused.body.errors[0].extensions.code).toBe("VERSION_NOT_FOUND");
    await mutate(
      `mutation { createPromptVersion(slug: "guide", input: { version: "${version}", text: "x" }) { promptVersion { id } } }`,
    );
    const done = await send();
    expect(done.headers["idempotent-replayed"]).toBeUndefined();
    expect(done.body.errors ?? done.body.error).toBeUndefined();
  },
);

test.each([
  ["an outage", new GabbroError("UNAVAILABLE", "Try again."), "UNAVAILABLE"],
  ["a fault", new Error("a fault"), "INTERNAL"],
])(
  "with a key, %s in one field stores nothing of the others, and is no answer to a retry",
  async (what, error, code) => {
    const slug = what.replaceAll(" ", "-");
    const failing = vi.spyOn(server.database, "notifyOfPrompt").mockRejectedValueOnce(error);
    onTestFinished(() => failing.mockRestore());
    const send = () =>
      server.graphql(
        `mutation {
        createDataset(input: { slug: "${slug}", columns: [] }) { dataset { slug } }
        createPromptVersion(slug: "guide", input: { version: "${slug}", text: "x" }) { promptVersion { version } }
      }`,
        {},
        keyed(slug),
      );
    const { body: failed } = await send();
    expect(failed).toEqual({ errors: [expect.objectContaining({ extensions: { code } })] });
    expect(await count("datasets", `slug = '${slug}'`)).toBe(0);
    const { body } = await send();
    expect(body.data).toEqual({
      createDataset: { dataset: { slug } },
      createPromptVersion: { promptVersion: { version: slug } },
    });
  },
);

test("a request with a key that was stored after its time was up is answered to a retry as stored", async () => {
  await using own = await startServer({ timeLimitMs: 300 });
  const [workspace] = await own.database.read.selectFrom("Workspace").select("id").execute();
  const { requestTransactions } = own.database;
  const releases = [];
  for (let taken = 0; taken < (isOnPostgresql ? 4 : 1); taken++)
    releases.push(await requestTransactions.acquire(workspace!.id));
  const send = () =>
    fetch(`${own.url}/monitor/log`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${own.token}`,
        "content-type": "application/json",
        "idempotency-key": "late",
      },
      body: JSON.stringify(log("late")),
    });
  expect((await send()).status).toBe(503);
  for (const release of releases) release();
  const stored = async () =>
    (await own.database.orm.em.fork().execute("select 1 from idempotent_answers")).length;
  await expect.poll(stored).toBe(1);
  const again = await send();
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
});

test("all fields of a mutation are one: what the first of them did is not done again when the second was refused", async () => {
  const fields = `mutation {
    createDataset(input: { slug: "made-once", columns: [] }) { dataset { slug rowCount } }
    publishPrompt(slug: "none", input: { newTag: "a", to: { version: "1" } }) { promptTag { label } }
    createPrompt(input: { slug: "made-never" }) { prompt { slug } }
  }`;
  const first = await mutate(fields, "fields");
  expect(first.body.data).toBeNull();
  expect(first.body.errors).toMatchObject([
    { path: ["publishPrompt"], extensions: { code: "PROMPT_NOT_FOUND" } },
  ]);
  const second = await mutate(fields, "fields");
  expect(second.body).toEqual(first.body);
  expect(await count("datasets", "slug = 'made-once'")).toBe(1);
  expect(await count("prompts", "slug = 'made-never'")).toBe(0);
});

test("a mutation with a key answers with all that it wrote", async () => {
  const made = await mutate(
    `mutation {
      createPrompt(input: { slug: "whole", name: "Whole" }) { prompt { slug versions { nodes { version } } } }
      createPromptVersion(slug: "whole", input: { version: "1.0.0", text: "Hi {{ name }}" }) {
        promptVersion { version variables { label } }
      }
      publishPrompt(slug: "whole", input: { newTag: "production", to: { version: "1.0.0" } }) { promptTag { label version } }
      logPrompt(input: { slug: "whole", output: "Hi" }) { log { version prompt { slug } promptVersion { version } } trace { logs { nodes { output } } } }
      createDataset(input: { slug: "whole", columns: [{ name: "a", type: TEXT }] }) { dataset { slug } }
      addDatasetItem(slug: "whole", input: { key: "1", values: { a: "x" } }) { datasetRow { values } }
      addDatasetItems(slug: "whole", input: { items: [{ key: "1", values: { a: "y" } }, { values: { a: "z" } }] }) { datasetRows { values } }
    }`,
    "whole",
  );
  expect(made.body).toEqual({
    data: {
      createPrompt: { prompt: { slug: "whole", versions: { nodes: [] } } },
      createPromptVersion: { promptVersion: { version: "1.0.0", variables: [{ label: "name" }] } },
      publishPrompt: { promptTag: { label: "production", version: "1.0.0" } },
      logPrompt: {
        log: { version: "1.0.0", prompt: { slug: "whole" }, promptVersion: { version: "1.0.0" } },
        trace: { logs: { nodes: [{ output: "Hi" }] } },
      },
      createDataset: { dataset: { slug: "whole" } },
      addDatasetItem: { datasetRow: { values: { a: "x" } } },
      addDatasetItems: { datasetRows: [{ values: { a: "y" } }, { values: { a: "z" } }] },
    },
  });
  expect((await server.get("/datasets/whole")).body.dataset.rows).toHaveLength(2);
});

test("requests with keys give their turns back, also those that fail: many more than may be open are all answered", async () => {
  const create = async (n: number) => {
    const mutation = `mutation { createPrompt(input: { slug: "turn-${n % 10}" }) { prompt { slug } } }`;
    return (await mutate(mutation, `turn-${n}`)).body.errors?.[0].extensions.code;
  };
  const codes = await Promise.all(Array.from({ length: 20 }, (_, n) => create(n)));
  expect(codes.toSorted()).toEqual([...Array(10).fill("CONFLICT"), ...Array(10).fill(undefined)]);
  expect(server.database.requestTransactions.waiting()).toBe(0);
});

test("a duplicate is a CONFLICT, also where it is found after the time for further attempts", async () => {
  const [token] = await server.database.read.selectFrom("AccessToken").select("id").limit(1).execute();
  const workspaceId = await getWorkspaceId(server.database, "default");
  const context = commandLineContext(server.database, workspaceId);
  context.access!.tokenId = token!.id;
  const now = performance.now.bind(performance);
  let lateMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
  const sent = { key: "late-duplicate", secret: server.token, request: "late duplicate" };
  const answering = runOnce(context, sent, async (own) => {
    lateMs = 6_000;
    const body = await createPrompt(own, { slug: "guide" }).catch(({ code }) => code);
    return { status: 200, headers: {}, body };
  });
  expect(await answering.finally(() => clock.mockRestore())).toMatchObject({ body: "CONFLICT" });
});

test("work that goes on after its request was given up writes nothing, neither beside it nor in another transaction", async () => {
  const workspaceId = await getWorkspaceId(server.database, "default");
  const context = (database: typeof server.database) => commandLineContext(database, workspaceId);
  let written = 0;
  const held = inRequestTransaction(
    { database: server.database, workspaceId, endsAtDuplicate: true },
    async ({ em, database }) =>
      inTransaction(em, async (nested) => {
        const within = database.readWithin(nested);
        for (;;) {
          await within
            .updateTable("Workspace")
            .set({ name: "default" })
            .where("id", "=", workspaceId)
            .execute();
          const prompt = {
            slug: `late-${written++}`,
            id: newId(),
            workspace: workspaceId,
            createdAt: new Date(),
          };
          await within
            .insertInto("Prompt")
            .values({ ...prompt, name: "", protectedTags: [] } as never)
            .execute();
          await nextTurn();
        }
      }),
    async () => {},
  );
  const others = (async () => {
    for (let n = 0; n < 20; n++) await createPrompt(context(server.database), { slug: `beside-${n}` });
  })();
  await expect(held).rejects.toMatchObject({ code: "TIMED_OUT" });
  await others;
  expect(written).toBeGreaterThan(0);
  expect(await count("prompts", "slug like 'late-%'")).toBe(0);
  expect(await count("prompts", "slug like 'beside-%'")).toBe(20);
});

test("a request with a key whose transaction stays open for a second is given up, and others write before it ends", async () => {
  const workspaceId = await getWorkspaceId(server.database, "default");
  const neighbour = () => server.post("/monitor/log", log("neighbour"));
  const addedBoth = vi.fn(async () => {});
  const held = inRequestTransaction(
    { database: server.database, workspaceId, endsAtDuplicate: true },
    async ({ em, database, throwFailure }) => {
      const context = { ...commandLineContext(database, workspaceId), em };
      await createPrompt(context, { slug: "held" });
      await vi.waitFor(() => expect(throwFailure).toThrow(), { timeout: 10_000 });
      expect((await neighbour()).status).toBe(200);
      await expect(createPrompt(context, { slug: "late" })).rejects.toMatchObject({ code: "TIMED_OUT" });
    },
    addedBoth,
  );
  await expect(held).rejects.toMatchObject({ code: "TIMED_OUT" });
  expect(addedBoth).not.toHaveBeenCalled();
  expect(await count("prompts", "slug in ('held', 'late')")).toBe(0);
});

test("a request that fails while its transaction waits to begin leaves none open", async () => {
  const { database } = server;
  const workspaceId = await getWorkspaceId(database, "default");
  const endTurn = await database.requestTransactions.acquire(workspaceId);
  const waiting = inRequestTransaction(
    { database, workspaceId, endsAtDuplicate: true },
    async ({ em }) => {
      inTransaction(em, async () => {}).catch(() => {});
      await nextTurn();
      throw new Error("given up");
    },
    async () => {},
  );
  setTimeout(endTurn, 50);
  const stop = await captureStatements(server);
  await expect(waiting).rejects.toThrow("given up");
  expect(stop().at(-1)?.sql).toMatch(/^rollback/i);
});

test("a transaction for which others may wait does not wait for the turns of its workspace", async () => {
  const workspaceId = await getWorkspaceId(server.database, "default");
  let turns = 0;
  await inRequestTransaction(
    { database: server.database, workspaceId, endsAtDuplicate: true },
    async ({ em, database }) => {
      await createPrompt({ ...commandLineContext(database, workspaceId), em }, { slug: "turning" });
      for (let n = 0; n < 50; n++) void server.database.turn(workspaceId).then(() => turns++);
      await database.turn(workspaceId);
      expect(turns).toBeLessThan(5);
    },
    async () => {},
  );
  await expect.poll(() => turns).toBe(50);
});

test.each([
  ["reads them", "trace { logs { nodes { output } } }", ""],
  [
    "adds others",
    "trace { id }",
    'addDatasetItem(slug: "quiz", input: { values: {} }) { datasetRow { id } }',
  ],
  [
    "changes something else",
    "trace { id }",
    'createDataset(input: { slug: "then", columns: [] }) { dataset { slug } }',
  ],
])(
  "a mutation with a key that adds rows and then %s is answered whole and stored once",
  async (what, read, more) => {
    const output = `then ${what}`;
    lines.length = 0;
    const mutation = `mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { id } ${read} } ${more} }`;
    const { body } = await server.graphql(mutation, { input: log(output) }, keyed(what.replaceAll(" ", "-")));
    expect(body.errors).toBeUndefined();
    // Nobody receives what was tried first.
    expect(lines.filter((line) => /"level":[456]0|"code"/.test(line))).toEqual([]);
    expect(body.data.logPrompt.trace.logs?.nodes ?? [{ output }]).toEqual([{ output }]);
    expect(await logged(output)).toBe(1);
  },
);

test("a row for a dataset that has just gone is refused with a key as without one", async () => {
  await addDataset(server, { slug: "gone", columns: [] });
  expect((await server.get("/datasets/gone")).status).toBe(200);
  await server.database.orm.em.fork().execute("delete from datasets where slug = 'gone'"); // which nobody hears of
  const send = (options = {}) => server.post("/datasets/gone/items", { values: {} }, options);
  const plain = await send();
  expect(plain.status).toBe(404);
  const withKey = await send(keyed("gone"));
  expect({ status: withKey.status, body: withKey.body }).toEqual({ status: 404, body: plain.body });
});

test("a slug that is taken is a CONFLICT with a key as without one", async () => {
  const create = 'mutation { createDataset(input: { slug: "quiz", columns: [] }) { dataset { slug } } }';
  const plain = await server.graphql(create);
  expect(plain.body.errors).toMatchObject([{ extensions: { code: "CONFLICT" } }]);
  expect((await server.graphql(create, {}, keyed("taken"))).body).toEqual(plain.body);
});

test.each([
  [
    "a tag",
    (n: number) =>
      `publishPrompt(slug: "guide", input: { newTag: "raced-${n}", to: { version: "1" } }) { promptTag { label } }`,
  ],
  [
    "a price",
    (n: number) =>
      `setModelPrice(input: { model: "raced-${n}", inputPrice: 1, outputPrice: 1 }) { modelPrice { model } }`,
  ],
  [
    "a row with a key",
    (n: number) => `addDatasetItem(slug: "quiz", input: { key: "raced-${n}", values: {} }) { warning }`,
  ],
])(
  "%s that requests with and without Idempotency-Key make at once is made by one of them and changed by the others",
  async (what, fieldOf) => {
    for (let round = 0; round < 10; round++) {
      const send = (n: number) =>
        mutate(`mutation { ${fieldOf(round)} }`, n % 2 === 0 ? `${what[2]}-${round}-${n}` : undefined);
      for (const { body } of await Promise.all(Array.from({ length: 8 }, (_, n) => send(n))))
        expect(body.errors).toBeUndefined();
    }
  },
);

test("a new token is answered again to the caller that created it, and is nowhere in the database", async () => {
  const create = 'mutation { createAccessToken(input: { name: "kept", scopes: [READ] }) { token } }';
  const first = await server.graphql(create, {}, keyed("token"));
  const { token } = first.body.data.createAccessToken;
  expect((await server.graphql(create, {}, keyed("token"))).body).toEqual(first.body);
  const rows = await server.database.orm.em.fork().execute("select * from idempotent_answers");
  expect(rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(rows)).not.toContain(token);
  expect(JSON.stringify(rows)).not.toContain(Buffer.from(token).toString("base64").slice(4, 40));
});

test("the answer is repeated for the same token however its header is written", async () => {
  const headers = { authorization: `bearer   ${server.token}`, "idempotency-key": "spaced" };
  const first = await server.post("/monitor/log", log("spaced"), keyed("spaced"));
  const second = await server.post("/monitor/log", log("spaced"), { token: null, headers });
  expect(second.body).toEqual(first.body);
});

test("after 24 hours a key is new again, also before its answer is cleared away", async () => {
  const send = () => server.post("/monitor/log", log("old"), keyed("old"));
  const first = await send();
  const { em } = server.database.orm;
  const old = storedTime(server.database, new Date(Date.now() - 24 * 3_600_000 - 1));
  const age = () =>
    em
      .fork()
      .getKysely()
      .updateTable("idempotent_answers" as never)
      .set({ created_at: old } as never)
      .execute();
  await age();
  const second = await send();
  expect(second.body.log.id).not.toBe(first.body.log.id);
  expect((await send()).body).toEqual(second.body);
  await age();
  await deleteOldResponses(server.database, new AbortController().signal);
  expect(await count("idempotent_answers")).toBe(0);
});

test("while many answers are cleared away, others are served", async () => {
  const workspace = await getWorkspaceId(server.database, "default");
  const old = { workspace, tokenId: uuidv7(), requestHash: "", answer: "", createdAt: new Date(0) };
  const rows = Array.from({ length: 1_700 }, () => ({ ...old, id: uuidv7(), keyHash: uuidv7() }));
  await server.database.commit(rows.map((row) => ["IdempotentAnswer", row]));
  let turns = 0;
  let isOver = false;
  const turning = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  await deleteOldResponses(server.database, new AbortController().signal);
  isOver = true;
  await turning;
  expect(await count("idempotent_answers", "answer = ''")).toBe(0);
  expect(turns).toBeGreaterThan(2); // between four steps
});

test.each([
  ["", 400],
  ["two words", 400],
  ["k".repeat(256), 400],
  ["ü", 400],
  ["k".repeat(255), 200],
])("the key %j is answered %i", async (key, status) => {
  expect((await server.post("/monitor/log", log("key"), keyed(key))).status).toBe(status);
  expect(
    (await server.graphql(logMutation, { input: log("key") }, keyed(`${key}${status === 200 ? "" : " "}`)))
      .status,
  ).toBe(status === 200 ? 409 : 400);
});

test("a subscriber gets a log with a key once, however often it is sent", async () => {
  const { pubSub } = server.database;
  const [workspace] = await server.database.orm.em
    .fork()
    .execute("select id from workspaces where name = 'default'");
  const listening = pubSub.listen({ workspaceId: workspace!.id, tokenId: null });
  const first = listening.next();
  const keyedLog = await server.post("/monitor/log", log("published"), keyed("published"));
  await server.post("/monitor/log", log("published"), keyed("published"));
  const last = await server.post("/monitor/log", log("published last"));
  expect((await first).value.id).toBe(keyedLog.body.log.id);
  expect((await listening.next()).value.id).toBe(last.body.log.id);
  await listening.return(undefined);
});

test("of two gateways on one database that get a request with one key at once, one carries it out", async () => {
  const database = await openDatabase(server.databaseUrl, entities, { poolSize: 5 });
  const other = await createApp(database, { corsOrigins: [] }, false);
  const send = (app: typeof other, n: number) =>
    app.inject({
      method: "POST",
      url: "/monitor/log",
      headers: { authorization: `Bearer ${server.token}`, "idempotency-key": `gateways-${n}` },
      payload: log("two gateways"),
    });
  for (let n = 0; n < 10; n++) {
    const [one, two] = await Promise.all([send(server.app, n), send(other, n)]);
    expect([one.statusCode, two.statusCode, two.body]).toEqual([200, 200, one.body]);
  }
  expect(await logged("two gateways")).toBe(10);
  await other.close();
});
