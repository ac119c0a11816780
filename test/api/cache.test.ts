import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { type GraphQLOutputType, getNamedType, isObjectType } from "graphql";
import { afterAll, expect, test, vi } from "vitest";
import { createCache } from "../../src/database/cache.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { updatePrompt } from "../../src/prompts/authoring.resolvers.ts";
import { deletePrompt } from "../../src/prompts/removal.resolvers.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { schema } from "../../src/schema.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt, addToken, addWorkspace } from "../support/data.ts";
import { heard, isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";
import { countTurns } from "../support/turns.ts";

const server = await startServer({});
afterAll(() => server[Symbol.asyncDispose]());

test("what anybody changes of a prompt is seen by the very next request, also when another process did it", async () => {
  await addPrompt(server, {
    slug: "changing",
    versions: [{ version: "1" }, { version: "2" }],
    tags: { production: "1" },
  });
  const served = async () => {
    const described = await server.get("/prompts/changing/describe");
    const read = await server.get("/prompts/changing");
    const byGraphql = await server.run('{ describePrompt(slug: "changing") { version } }');
    const logged = await server.post("/monitor/log", { slug: "changing", output: 1 });
    const { version } = await server.run("query($id: ID!) { log(id: $id) { version } }", {
      id: logged.body.log.id,
    });
    return [described.body.prompt.version, read.body.prompt.version, byGraphql.version, version];
  };
  expect(await served()).toEqual(["1", "1", "1", "1"]);
  await server.run(
    'mutation { publishPrompt(slug: "changing", input: { newTag: "production", to: { version: "2" } }) { promptTag { id } } }',
  );
  expect(await served()).toEqual(["2", "2", "2", "2"]);

  const elsewhere = await openDatabase(server.databaseUrl, entities);
  const context = commandLineContext(elsewhere, await getWorkspaceId(elsewhere, "default"));
  await publishPrompt(context, { slug: "changing", newTag: "production", version: "1" });
  await heard(async () => expect(await served()).toEqual(["1", "1", "1", "1"]));
  await updatePrompt(context, { slug: "changing", input: { name: "Changed elsewhere" } });
  const described = () => server.get("/prompts/changing/describe");
  await heard(async () => expect((await described()).body.prompt.name).toBe("Changed elsewhere"));
  await deletePrompt(context, { slug: "changing" });
  await elsewhere.close();
  await heard(async () => expect((await described()).status).toBe(404));
  expect((await server.get("/prompts/changing")).status).toBe(404);
});

test.skipIf(isOnPostgresql)(
  "on SQLite: a prompt that is read again and again is read from the database once",
  async () => {
    await addPrompt(server, { slug: "often", versions: [{ version: "1" }], tags: { production: "1" } });
    const asked = [
      () => server.get("/prompts/often"),
      () => server.get("/prompts/often/describe"),
      () => server.graphql('{ describePrompt(slug: "often") { name variables { label } } }'),
      () => server.graphql('{ servedPrompt(slug: "often") { text } }'),
      () => server.graphql("{ prompts { nodes { versions { nodes { version } } } } }"),
    ];
    for (const ask of asked) expect((await ask()).status).toBe(200);
    const handle = await (
      server.database.orm.em.getConnection("read") as unknown as Handle
    ).getNativeClient();
    const prepare = vi.spyOn(handle, "prepare");
    try {
      for (let n = 0; n < 5; n++) for (const ask of asked) expect((await ask()).status).toBe(200);
      expect(prepare).not.toHaveBeenCalled();
    } finally {
      prepare.mockRestore();
    }
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite: a change while a prompt is read is not lost to what is cached",
  async () => {
    await addPrompt(server, {
      slug: "racing",
      versions: [{ version: "1" }, { version: "2" }],
      tags: { production: "1" },
    });
    const elsewhere = new BetterSqlite3(join(server.folder, "gabbro.sqlite"));
    const publishTheOther = elsewhere.prepare(
      "update prompt_tags set version_id = (select id from prompt_versions v where v.prompt_id = prompt_tags.prompt_id and v.version = '2') where prompt_id = (select id from prompts where slug = 'racing')",
    );
    const handle = await (
      server.database.orm.em.getConnection("read") as unknown as Handle
    ).getNativeClient();
    const prepare = handle.prepare.bind(handle);
    const spy = vi.spyOn(handle, "prepare").mockImplementation((text) => {
      const statement = prepare(text); // it is kept, so it must stay as it is
      if (!/from [`"]prompt_tags/.test(text)) return statement;
      const all = (bound: unknown) => {
        const rows = statement.all(bound);
        publishTheOther.run();
        return rows;
      };
      return { reader: true, all };
    });
    const version = async () => (await server.get("/prompts/racing/describe")).body.prompt.version;
    try {
      expect(await version()).toBe("1");
    } finally {
      spy.mockRestore();
      elsewhere.close();
    }
    expect(await version()).toBe("2");
  },
);

test.skipIf(isOnPostgresql)("on SQLite: an answer with an error is not cached", async () => {
  await addPrompt(server, { slug: "failing", versions: [{ version: "1" }], tags: { production: "1" } });
  const handle = await (server.database.orm.em.getConnection("read") as unknown as Handle).getNativeClient();
  const ask = () => server.graphql('{ servedPrompt(slug: "failing") { version } }');
  const spy = vi.spyOn(handle, "prepare").mockImplementation(() => {
    throw new Error("disk I/O error");
  });
  try {
    expect((await ask()).body.errors).toHaveLength(1);
  } finally {
    spy.mockRestore();
  }
  expect((await ask()).body).toEqual({ data: { servedPrompt: { version: "1" } } });
});

test("what is cached for one token is not answered to who may not read it", async () => {
  await addPrompt(server, { slug: "ours", versions: [{ version: "1" }], tags: { production: "1" } });
  const ask = (token?: string | null) =>
    Promise.all([
      server.get("/prompts/ours", { token }),
      server.graphql('{ describePrompt(slug: "ours") { slug } }', {}, { token }),
    ]);
  const statuses = async (token?: string | null) =>
    (await ask(token)).map(({ status, body }) => body.code ?? body.errors?.[0].extensions.code ?? status);
  // Made before: a change would have what is cached forgotten.
  const [elsewhere, writing] = [
    await addWorkspace(server, "another"),
    await addToken(server, { scopes: ["write"] }),
  ];
  for (let n = 0; n < 2; n++) expect(await statuses()).toEqual([200, 200]);
  expect(await statuses(elsewhere.token)).toEqual(["PROMPT_NOT_FOUND", "PROMPT_NOT_FOUND"]);
  expect(await statuses(writing.token)).toEqual(["FORBIDDEN", "FORBIDDEN"]);
  expect(await statuses(null)).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED"]);
  expect(await statuses()).toEqual([200, 200]);
});

test("a cached value gives way to one that was read beside the cache, unless it is newer", async () => {
  const of = { workspaceId: "ours", key: "read" };
  const seen = async () => {
    const cache = createCache<{ version: number }>();
    const read = () => cache(server.database, of, async () => ({ version: 2 }));
    const replaceBy = (version: number) =>
      cache.replace(server.database, of, { version }, (cached) => cached.version < version);
    replaceBy(9); // nothing is cached yet
    const versions = [await read()];
    for (const version of [3, 1]) {
      replaceBy(version);
      versions.push(await read());
    }
    return versions.map((value) => value?.version);
  };
  // A write of the server itself in between empties every cache.
  await vi.waitFor(async () => expect(await seen()).toEqual([2, 3, 3]), 30_000);
});

test("a shared value is loaded once for all who ask meanwhile, who then go on in turns of their workspace", async () => {
  const seen = async () => {
    const cache = createCache<object>({ shares: true });
    const load = vi.fn(async () => ({}));
    const turns = countTurns();
    const ask = async () => {
      await cache(server.database, { workspaceId: "ours", key: "read" }, load);
      return turns.now();
    };
    const wentOnIn = await Promise.all(Array.from({ length: 20 }, ask));
    turns.stop();
    return [load.mock.calls.length, new Set(wentOnIn).size];
  };
  // A write of the server itself in between has it loaded again.
  await vi.waitFor(async () => expect(await seen()).toEqual([1, 20]), 30_000);
});

test("the versions of a prompt are read once for all fields of a request that serve it", async () => {
  await addPrompt(server, { slug: "served", versions: [{ version: "1" }], tags: { production: "1" } });
  const fields = Array.from({ length: 20 }, (_, n) => `a${n}: servedPrompt(slug: "served") { version }`);
  const stop = await captureStatements(server);
  await server.run(`{ ${fields.join(" ")} }`);
  const names = stop().filter(({ sql }) => /from [`"]prompt_versions[`"].*[`"]prompt_id[`"] in/is.test(sql));
  expect(names).toHaveLength(1);
});

test("answers of GraphQL that are cached differ with everything that was asked", async () => {
  await addPrompt(server, {
    slug: "asked",
    versions: [{ version: "1" }, { version: "2" }],
    tags: { production: "1" },
  });
  const query =
    'query A($v: String) { describePrompt(slug: "asked", version: $v) { version } } query B { promptDiff(slug: "asked", from: "1", to: "2") }';
  const ask = async (body: object, accept = "application/json") => {
    const answer = await server.post("/graphql", { query, ...body }, { headers: { accept } });
    return [answer.headers["content-type"], answer.body.data];
  };
  const plain = "application/json; charset=utf-8";
  const graphqlJson = "application/graphql-response+json";
  for (let n = 0; n < 2; n++) {
    expect(await ask({ operationName: "A" })).toEqual([plain, { describePrompt: { version: "1" } }]);
    expect(await ask({ operationName: "A", variables: { v: "2" } })).toEqual([
      plain,
      { describePrompt: { version: "2" } },
    ]);
    expect(await ask({ operationName: "B" })).toEqual([plain, { promptDiff: "" }]);
    expect((await ask({ operationName: "A" }, graphqlJson))[0]).toContain(graphqlJson);
  }
});

test("fields whose answers are cached reach nothing that is written without a unit of work", () => {
  const reached = new Set<string>();
  const reach = (type: GraphQLOutputType): void => {
    const named = getNamedType(type);
    if (!isObjectType(named) || reached.has(named.name)) return;
    reached.add(named.name);
    for (const field of Object.values(named.getFields())) reach(field.type);
  };
  const kept = Object.values(schema.getQueryType()!.getFields()).filter(
    ({ extensions }) => extensions.cacheable,
  );
  expect(kept.map(({ name }) => name)).toContain("describePrompt");
  for (const { type } of kept) reach(type);
  const ofPrompts =
    /^(?:Prompt|PromptDescription|PromptMessage|PromptModel|PromptVariable|PromptTag|ServedPrompt|(?:Prompt|PromptVersion|PromptTagMove)(?:Connection|Edge)|PromptVersion|PromptTagMove|VersionSource|PageInfo|Warning)$/;
  expect([...reached].filter((name) => !ofPrompts.test(name))).toEqual([]);
});

interface Handle {
  getNativeClient(): Promise<{ prepare(text: string): { all(bound: unknown): unknown } }>;
}
