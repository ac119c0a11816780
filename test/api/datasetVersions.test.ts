import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeDeletedDatasets } from "../../src/datasets/removal.resolvers.ts";
import { runCommand } from "../support/commandLine.ts";
import { addDataset, addToken, addWorkspace } from "../support/data.ts";
import {
  ADD_MANY,
  CHANGE_ROW,
  CREATE,
  DELETE_ROW,
  importRows,
  type Row,
  randomHistory,
  STATE,
  type State,
  stateOf,
  UPDATE,
} from "../support/datasetHistory.ts";
import { createRandom } from "../support/random.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const { run } = server;

const AT = `query ($slug: String!, $version: Int, $tag: String) { dataset(slug: $slug, version: $version, tag: $tag) { id ${STATE} } }`;
const TAG =
  "mutation ($slug: String!, $input: TagDatasetVersionInput!) { tagDatasetVersion(slug: $slug, input: $input) { datasetTag { label version } dataset { tags { label version } } } }";
const UNTAG =
  "mutation ($slug: String!, $input: RemoveDatasetTagInput!) { removeDatasetTag(slug: $slug, input: $input) { deletedDatasetTagId dataset { tags { label } } } }";
const PROTECT =
  "mutation ($slug: String!, $input: SetDatasetTagProtectionInput!) { setDatasetTagProtection(slug: $slug, input: $input) { protectedTags } }";
const DIFF = `query ($slug: String!, $from: Int!, $to: Int!, $first: Int, $after: String) {
  datasetDiff(slug: $slug, from: { version: $from }, to: { version: $to }, first: $first, after: $after) {
    nodes { kind before { id values idealOutput name metadata } after { id values idealOutput name metadata } } pageInfo { endCursor hasNextPage }
  }
}`;

let history: State[];
beforeAll(async () => {
  history = await randomHistory(server, "history", 80);
});

/** The answer as it is: `run` has lists in place of pages. */
// biome-ignore lint/suspicious/noExplicitAny: a field may have any shape
const runPages = async (query: string, variables: object): Promise<any> =>
  (await server.graphql(query, variables as Record<string, unknown>)).body.data;

const pinned = (rows: Row[], version: number) => rows.map((row) => ({ ...row, id: `${row.id}@${version}` }));

test("an offset skips as many rows, from the beginning or a cursor, in the newest version and in each before it", async () => {
  const page = `query ($version: Int, $after: String, $offset: Int!) {
    dataset(slug: "history", version: $version) { rows(first: 2, after: $after, offset: $offset) { nodes { id } pageInfo { hasNextPage hasPreviousPage endCursor } } }
  }`;
  const newest = await stateOf(server, "history");
  for (const { rows, version } of [...history.slice(-25), { ...newest, version: null }]) {
    const ids = (version === null ? rows : pinned(rows, version)).map(({ id }) => id);
    for (const offset of [0, 1, 3, ids.length - 1, ids.length, ids.length + 5].filter((one) => one >= 0)) {
      const { rows: found } = (await runPages(page, { version, offset })).dataset;
      expect(found.nodes.map(({ id }: Row) => id)).toEqual(ids.slice(offset, offset + 2));
      expect(found.pageInfo.hasNextPage).toBe(ids.length > offset + 2);
      if (offset > 0) expect(found.pageInfo.hasPreviousPage).toBe(ids.length > 0);
    }
    const { rows: first } = (await runPages(page, { version, offset: 0 })).dataset;
    const after = first.pageInfo.endCursor;
    if (after === null) continue;
    const { rows: found } = (await runPages(page, { version, after, offset: 3 })).dataset;
    expect(found.nodes.map(({ id }: Row) => id)).toEqual(ids.slice(5, 7));
  }
});

test("every version of a dataset reads exactly as it was, at both APIs", async () => {
  const { id } = await run('{ dataset(slug: "history") { id } }');
  for (const { rows, ...state } of history) {
    const { version } = state;
    expect(await run(AT, { slug: "history", version })).toEqual({
      ...{ ...state, id: `${id}@${version}` },
      rows: pinned(rows, version),
    });
    const { body } = await server.get(`/datasets/history?version=${version}`);
    expect(body.dataset).toEqual({
      ...{ slug: "history", name: "history", version },
      columns: state.columns.map(({ name }) => ({ name, type: "text" })),
      rows: rows.map(({ id, values, idealOutput, metadata }) => ({
        id,
        values,
        idealOutput,
        metadata,
      })),
    });
    expect(body.warning ?? null).toBe(state.warning);
  }
});

test("the command line lists what each version changed, and how many rows it has", async () => {
  const command = ["dataset", "versions", "history", "--limit", "10000", "--json"];
  const { stdout } = await runCommand(server.folder, command, { DATABASE_URL: server.databaseUrl });
  const listed: (Record<string, unknown> & { changedRows: number })[] = JSON.parse(stdout);
  expect(listed.toReversed()).toEqual(
    history.map(({ version, rows, columns, rowCount }, at) => {
      const before = history[at - 1] ?? { rows: [], columns };
      const [old, now] = [rowsById(before.rows), rowsById(rows)];
      const changed = rows.filter(({ id }) => old.has(id) && !isDeepStrictEqual(old.get(id), now.get(id)));
      const { changedRows } = listed[listed.length - version]!;
      if (isDeepStrictEqual(columns, before.columns))
        expect(changedRows).toBeGreaterThanOrEqual(changed.length); // and those that were stored as they were
      return {
        ...{ version, tags: [], rowCount, changedRows },
        addedRows: rows.filter(({ id }) => !old.has(id)).length,
        removedRows: before.rows.filter(({ id }) => !now.has(id)).length,
        columnsChanged: !isDeepStrictEqual(columns, before.columns),
      };
    }),
  );
});

const rowsById = (rows: Row[]) => new Map(rows.map((row) => [row.id, row]));

test("the pages of a version hold each of its rows once, in their order", { tags: "slow" }, async () => {
  const { below } = createRandom(7);
  const PAGE =
    'query ($version: Int, $first: Int, $after: String) { dataset(slug: "history", version: $version) { rows(first: $first, after: $after) { nodes { id values } pageInfo { endCursor hasNextPage } } } }';
  for (const { version, rows } of history.filter((_, at) => at % 3 === 0)) {
    const read: unknown[] = [];
    for (let after: string | null = null, more = true; more; ) {
      const { dataset } = await runPages(PAGE, { version, first: 1 + below(4), after });
      const page = dataset.rows;
      read.push(...page.nodes);
      [after, more] = [page.pageInfo.endCursor, page.pageInfo.hasNextPage];
    }
    expect(read).toEqual(pinned(rows, version).map(({ id, values }) => ({ id, values })));
  }
});

test("node finds a dataset and its rows in each version, and nothing in a version that there is not", async () => {
  const NODES =
    "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Dataset { version columns { name } } ... on DatasetRow { values } } }";
  const { id } = await run('{ dataset(slug: "history") { id } }');
  for (const { version, columns, rows } of history) {
    const nodes = pinned(rows, version).map(({ id, values }) => ({ id, values }));
    const expected = [{ id: `${id}@${version}`, version, columns }, ...nodes].slice(0, 100);
    expect(await run(NODES, { ids: expected.map((one) => one.id) })).toEqual(expected);
  }
  const later = history.length + 1;
  const added = history.at(-1)!.rows.at(-1)!.id;
  const ids = [`${id}@${later}`, `${added}@${later}`, `${added}@1`, `${id.slice(0, -4)}0000@1`];
  expect(await run(NODES, { ids })).toEqual([null, null, null, null]);
});

test("a diff of two versions has exactly the rows that differ, forwards and backwards, page by page", async () => {
  const { below } = createRandom(11);
  const contentOf = ({ id, values, idealOutput, name, metadata }: Row) => ({
    ...{ id, values, idealOutput, name, metadata },
  });
  for (let round = 0; round < 30; round++) {
    const [from, to] = [history[below(history.length)]!, history[below(history.length)]!];
    const [old, now] = [from, to].map(({ rows }) => new Map(rows.map((row) => [row.id, row])));
    const changes: { kind: string; id: string }[] = [];
    for (const id of [...new Set([...old!.keys(), ...now!.keys()])].toSorted()) {
      const [before, after] = [old!.get(id), now!.get(id)];
      if (!before || !after) changes.push({ kind: before ? "REMOVED" : "ADDED", id });
      else if (JSON.stringify(before) !== JSON.stringify(after)) changes.push({ kind: "CHANGED", id });
    }
    const read: { kind: string; before: Row | null; after: Row | null }[] = [];
    for (let after: string | null = null, more = true; more; ) {
      const variables: object = {
        slug: "history",
        from: from.version,
        to: to.version,
        first: 1 + below(9),
        after,
      };
      // biome-ignore lint/suspicious/noExplicitAny: a field may have any shape
      const rows: any = (await runPages(DIFF, variables)).datasetDiff;
      read.push(...rows.nodes);
      [after, more] = [rows.pageInfo.endCursor, rows.pageInfo.hasNextPage];
    }
    const renamed = JSON.stringify(from.columns) !== JSON.stringify(to.columns);
    const found = read.map(({ kind, before, after }) => ({ kind, id: (before ?? after)!.id.split("@")[0] }));
    // Rows whose columns only have other names are not changed themselves.
    if (!renamed) expect(found).toEqual(changes);
    else expect(changes).toEqual(expect.arrayContaining(found));
    for (const { before, after } of read) {
      if (before)
        expect(contentOf(before)).toEqual(
          contentOf(pinned([old!.get(before.id.split("@")[0]!)!], from.version)[0]!),
        );
      if (after)
        expect(contentOf(after)).toEqual(
          contentOf(pinned([now!.get(after.id.split("@")[0]!)!], to.version)[0]!),
        );
    }
  }
});

test("a read that lasts while a dataset changes is exactly the version that it names", {
  tags: "slow",
}, async () => {
  // The long ones are read after their page.
  const rows = Array.from({ length: 750 }, (_, at) => ({
    values: { a: String(at), b: at % 3 ? "" : "x".repeat(5_000) },
  }));
  const { rowIds } = await addDataset(server, {
    slug: "busy",
    columns: ["a", "b"].map((name) => ({ name, type: "text" as const })),
    rows,
  });
  const readings: Promise<{ version: number; rows: Row[] }>[] = [];
  for (let at = 0; at < 20; at++) {
    readings.push(server.get("/datasets/busy").then(({ body }) => body.dataset));
    if (at % 2) await run(CHANGE_ROW, { id: rowIds[at * 35], input: { values: { a: `changed ${at}` } } });
    else await run(DELETE_ROW, { id: rowIds[749 - at * 35] });
    await server.post("/datasets/busy/items", { values: { a: `added ${at}` } });
  }
  const versions = await Promise.all(readings);
  for (const { version, rows } of versions)
    expect(rows).toEqual((await server.get(`/datasets/busy?version=${version}`)).body.dataset.rows);
  expect(new Set(versions.map(({ version }) => version)).size).toBeGreaterThan(1);
});

test("callers that add, change and delete rows of one dataset at once each make a version that no other has", async () => {
  const slug = "crowded";
  const { id: dataset, rowIds } = await addDataset(server, {
    slug,
    columns: [{ name: "a", type: "text" }],
    rows: Array.from({ length: 20 }, () => ({ values: { a: "0" } })),
  });
  const { version } = await stateOf(server, slug);
  const add = async (times: number) => {
    const answers = [];
    for (let n = 0; n < times; n++)
      answers.push(await server.post(`/datasets/${slug}/items`, { values: { a: "added" } }));
    return answers;
  };
  const adding = Promise.all([add(40), add(40), add(40)]).then((all) => all.flat());
  const answers = await Promise.all(
    rowIds.flatMap((id, at) => [
      at % 2 ? run(CHANGE_ROW, { id, input: { values: { a: "1" } } }) : run(DELETE_ROW, { id }),
      run(ADD_MANY, { slug, input: { items: [{ key: "same", values: { a: String(at) } }] } }),
    ]),
  );
  answers.push(...(await adding));
  expect(answers.filter(({ error, status = 201 }) => error || status !== 201)).toEqual([]);
  const { read } = server.database;
  const replaced = await read
    .selectFrom("DatasetRowRevision")
    .select("until")
    .where("dataset", "=", dataset)
    .execute();
  const untils = new Set(replaced.map(({ until }) => until));
  expect([replaced.length, untils.size]).toEqual([39, 39]); // 20 changed or deleted, and the key 19 times
  const added = await read
    .selectFrom("DatasetRow")
    .select("version")
    .where("dataset", "=", dataset)
    .where("key", "is", null)
    .where("version", ">", version)
    .execute();
  const commits = new Set(added.map((row) => row.version).filter((made) => !untils.has(made)));
  const now = await stateOf(server, slug);
  expect(now.rows).toHaveLength(131);
  expect(added.length - 10).toBe(120); // 10 changed rows have new versions, too
  expect(commits.size).toBe(now.version - version - 40);
  expect((await run(AT, { slug, version })).rows).toHaveLength(20);
});

test("an import makes one version, and one that changes nothing makes none", async () => {
  await run(CREATE, { input: { slug: "imported", columns: [{ name: "a", type: "TEXT" }] } });
  const rows = Array.from({ length: 1_200 }, (_, at) => ({ key: `k${at}`, values: { a: String(at) } }));
  await importRows(server, "imported", rows);
  expect((await stateOf(server, "imported")).version).toBe(2);
  await importRows(server, "imported", rows);
  expect((await stateOf(server, "imported")).version).toBe(2);
  await importRows(server, "imported", [{ key: "k3", values: { a: "other" } }]);
  expect((await stateOf(server, "imported")).version).toBe(3);
  expect((await run(AT, { slug: "imported", version: 2 })).rows[3].values).toEqual({ a: "3" });
});

test("what changes no row and no column makes no version", async () => {
  await run(CREATE, { input: { slug: "still", columns: [{ name: "a", type: "TEXT" }] } });
  await run(UPDATE, { slug: "still", input: { name: "Other name" } });
  await run(UPDATE, { slug: "still", input: { removeColumns: [], renameColumns: [] } });
  await run(ADD_MANY, { slug: "still", input: { items: [] } });
  await run(ADD_MANY, { slug: "still", input: { items: [{ values: {}, key: "x".repeat(600) }] } });
  await run(CHANGE_ROW, { id: "01890a5d-ac96-774b-bcce-b302099a8057", input: {} });
  expect((await stateOf(server, "still")).version).toBe(1);
});

test("a row is not changed by its id in a version, and the error says what to send", async () => {
  const { rows } = history.at(-1)!;
  const id = `${rows[0]!.id}@${history.length}`;
  const refused = [await run(CHANGE_ROW, { id, input: {} }), await run(DELETE_ROW, { id })];
  for (const { error } of refused)
    expect(error).toMatchObject({
      code: "BAD_INPUT",
      message: expect.stringMatching(/id of a row of the newest version: a UUID, without @/),
    });
});

test("a tag names a version until it is moved or removed, and latest always the newest", async () => {
  await run(CREATE, { input: { slug: "tagged", columns: [{ name: "a", type: "TEXT" }] } });
  await server.post("/datasets/tagged/items", { values: { a: "1" } });
  const tagged = await run(TAG, { slug: "tagged", input: { tag: "gate", to: { tag: "latest" } } });
  expect(tagged).toEqual({
    datasetTag: { label: "gate", version: 2 },
    dataset: { tags: [{ label: "gate", version: 2 }] },
  });
  await server.post("/datasets/tagged/items", { values: { a: "2" } });
  const countAt = async (tag: string) => (await run(AT, { slug: "tagged", tag })).rowCount;
  expect([await countAt("gate"), await countAt("latest")]).toEqual([1, 2]);
  expect((await server.get("/datasets/tagged?tag=gate")).body.dataset).toMatchObject({ version: 2 });
  await run(TAG, { slug: "tagged", input: { tag: "gate", to: { version: 1 } } });
  await run(TAG, { slug: "tagged", input: { tag: "copy", to: { tag: "gate" } } });
  expect([await countAt("gate"), await countAt("copy")]).toEqual([0, 0]);
  expect(await run(UNTAG, { slug: "tagged", input: { tag: "gate" } })).toMatchObject({
    dataset: { tags: [{ label: "copy" }] },
  });
  expect((await run(AT, { slug: "tagged", tag: "gate" })).error).toMatchObject({ code: "TAG_NOT_FOUND" });
  expect(await run("{ auditLog(first: 4) { nodes { action subject before after } } }")).toContainEqual({
    ...{ action: "tagDatasetVersion", subject: "tagged" },
    ...{ before: { gate: 2 }, after: { gate: 1 } },
  });
});

test.each([
  ["none", {}],
  ["a version and a tag", { version: 1, tag: "latest" }],
  ["no version, by null", { version: null }],
])("a version is chosen by exactly one of its number and a tag: %s is refused", async (_, to) => {
  const refused = { error: { code: "BAD_INPUT" } };
  expect(await run(TAG, { slug: "history", input: { tag: "one", to } })).toMatchObject(refused);
  const published = await run(
    'mutation ($to: PromptVersionSelector!) { publishPrompt(slug: "any", input: { newTag: "one", to: $to }) { prompt { id } } }',
    { to: "version" in to && to.version !== null ? { ...to, version: "1" } : to },
  );
  expect(published).toMatchObject(refused);
});

test("a protected tag is moved and removed, and its dataset deleted, only with the scope publish", async () => {
  await run(CREATE, { input: { slug: "guarded", columns: [{ name: "a", type: "TEXT" }] } });
  await run(TAG, { slug: "guarded", input: { tag: "gate", to: { version: 1 } } });
  expect(await run(PROTECT, { slug: "guarded", input: { tag: "gate", protected: true } })).toEqual(["gate"]);
  const { token } = await addToken(server, { scopes: ["read", "write"] });
  const FORBIDDEN = { error: { code: "FORBIDDEN" } };
  const slug = "guarded";
  const DELETE = "mutation ($slug: String!) { deleteDataset(slug: $slug) { deletedDatasetId } }";
  expect(await run(TAG, { slug, input: { tag: "gate", to: { version: 1 } } }, token)).toMatchObject(
    FORBIDDEN,
  );
  expect(await run(UNTAG, { slug, input: { tag: "gate" } }, token)).toMatchObject(FORBIDDEN);
  expect(await run(PROTECT, { slug, input: { tag: "x", protected: true } }, token)).toMatchObject(FORBIDDEN);
  expect(await run(DELETE, { slug }, token)).toMatchObject(FORBIDDEN);
  expect(await run(TAG, { slug, input: { tag: "other", to: { version: 1 } } }, token)).toMatchObject({
    datasetTag: { label: "other" },
  });
  const dataset = await run('{ dataset(slug: "guarded") { protectedTags tags { label } } }');
  expect(dataset).toEqual({ protectedTags: ["gate"], tags: [{ label: "gate" }, { label: "other" }] });
  expect(await run(PROTECT, { slug, input: { tag: "gate", protected: false } })).toEqual([]);
  expect(await run(DELETE, { slug }, token)).toEqual(expect.any(String));
});

test("the tag latest is neither moved nor removed nor protected", async () => {
  const [slug, tag] = ["history", "latest"];
  for (const refused of [
    await run(TAG, { slug, input: { tag, to: { version: 1 } } }),
    await run(UNTAG, { slug, input: { tag } }),
    await run(PROTECT, { slug, input: { tag, protected: true } }),
  ])
    expect(refused).toMatchObject({ error: { code: "FORBIDDEN" } });
});

test.each([
  ["?version=0", 400, "BAD_INPUT"],
  ["?version=-1", 400, "BAD_INPUT"],
  ["?version=1.5", 400, "BAD_INPUT"],
  ["?version=99999999999", 400, "BAD_INPUT"],
  ["?version=999999999", 404, "VERSION_NOT_FOUND"],
  ["?tag=none", 404, "TAG_NOT_FOUND"],
  ["?version=&tag=", 200, undefined],
])("REST answers %s with %i", async (query, status, code) => {
  const answer = await server.get(`/datasets/history${query}`);
  expect([answer.status, answer.body.code]).toEqual([status, code]);
});

test("another workspace reads no version, no tag and no node of a dataset", async () => {
  const { token } = await addWorkspace(server, "elsewhere");
  const { id } = await run('{ dataset(slug: "history") { id } }');
  const row = history.at(-1)!.rows[0]!.id;
  const gone = history.flatMap(({ rows, version }) => rows.map((row) => `${row.id}@${version}`)).slice(0, 90);
  const ids = [`${id}@1`, `${row}@${history.length}`, ...gone];
  const nodes = await run("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", { ids }, token);
  expect(nodes).toEqual(ids.map(() => null));
  expect(await run(AT, { slug: "history", version: 1 }, token)).toMatchObject({
    error: { code: "DATASET_NOT_FOUND" },
  });
  await addDataset(server, { slug: "history", columns: [], workspace: "elsewhere" });
  const tag = await run(TAG, { slug: "history", input: { tag: "theirs", to: { version: 1 } } }, token);
  expect(tag).toMatchObject({ dataset: { tags: [{ label: "theirs", version: 1 }] } });
  expect((await run('{ dataset(slug: "history") { tags { label } } }')).tags).toEqual([]);
});

test("of a deleted dataset no revision and no tag stays", async () => {
  await randomHistory(server, "passing", 30);
  await run(TAG, { slug: "passing", input: { tag: "gate", to: { version: 1 } } });
  const { id } = await run('{ dataset(slug: "passing") { id } }');
  await run('mutation { deleteDataset(slug: "passing") { deletedDatasetId } }');
  await removeDeletedDatasets(server.database, new AbortController().signal);
  const { read } = server.database;
  for (const part of ["DatasetRow", "DatasetRowRevision", "DatasetColumnsRevision", "DatasetTag"] as const)
    expect(await read.selectFrom(part).select("id").where("dataset", "=", id).execute()).toEqual([]);
});

test("an operation reads old versions one after another, and counts the rows of each once", async () => {
  await run(CREATE, { input: { slug: "walked", columns: [{ name: "a", type: "TEXT" }] } });
  for (const a of ["1", "2", "3", "4"]) await server.post("/datasets/walked/items", { values: { a } });
  const { id } = await run('{ dataset(slug: "walked") { id } }');
  const ids = [1, 2, 3, 4, 2, 3].map((version) => `${id}@${version}`);
  const query =
    "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Dataset { rowCount again: rowCount rows(first: 1) { nodes { id } } } } }";
  const stop = await captureStatements(server);
  const nodes = (await server.graphql(query, { ids })).body.data.nodes as {
    rowCount: number;
    again: number;
  }[];
  const asked = stop().flatMap(
    ({ sql }) => /from [`"](dataset_rows|dataset_row_revisions)[`"].* order by/s.exec(sql)?.[1] ?? [],
  );
  expect(nodes.map(({ rowCount, again }) => [rowCount, again])).toEqual(
    [0, 1, 2, 3, 1, 2].map((n) => [n, n]),
  );
  const walks = asked.slice(asked.indexOf("dataset_rows")); // behind what finds the versions
  // Of each version the rows, then their revisions, before those of the next.
  const inTurns = walks.map((_, at) => (at % 2 === 0 ? "dataset_rows" : "dataset_row_revisions"));
  expect(walks).toEqual(inTurns);
  expect(walks.length).toBe(2 * (4 + 6));
});
