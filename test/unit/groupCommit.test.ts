import { expect, test, vi } from "vitest";
import { createCommit } from "../../src/database/groupCommit.ts";
import { GabbroError } from "../../src/errors.ts";
import { currentWorkspace, runShared } from "../../src/limits/eventLoop.ts";
import { countTurns } from "../support/turns.ts";

const AT_ONCE = 4;
const rows = (name: string) => [["Thing", { name }]] as never;

const neverAlone = () => Promise.reject(new Error("It waits for no lock."));

const namesOf = (all: [string, { name: string }][]) => all.map(([, { name }]) => name);

/** A group commit over a database that stores when the test lets it. */
function createSlowCommit({ takesLocks = false } = {}) {
  const inserting: { names: string[]; done(): void }[] = [];
  const insert = (all: [string, { name: string }][]) => {
    const { promise, resolve: done } = Promise.withResolvers<void>();
    inserting.push({ names: namesOf(all), done });
    return promise;
  };
  const commit = createCommit({ insert, insertAlone: neverAlone, takesLocks: () => takesLocks });
  /** Begins as many transactions as there may be, each with one request. */
  const fill = async () => {
    const stored = [];
    for (let n = 0; n < AT_ONCE; n++) {
      stored.push(commit(rows(`${n}`)));
      await expect.poll(() => inserting.length).toBe(n + 1);
    }
    return stored;
  };
  return { commit, inserting, fill };
}

test("what comes while a few transactions are under way shares the next one", async () => {
  const { commit, inserting, fill } = createSlowCommit();
  const first = await fill();
  const later = ["a", "b", "c"].map((name) => commit(rows(name)));
  await new Promise(setImmediate);
  expect(inserting).toHaveLength(AT_ONCE);
  inserting[2]!.done();
  await expect.poll(() => inserting.length).toBe(AT_ONCE + 1);
  expect(inserting.at(-1)!.names).toEqual(["a", "b", "c"]);
  for (const { done } of inserting) done();
  await Promise.all([...first, ...later]);
  expect(commit.waiting()).toBe(0);
});

test("where few wait, those that come a turn later share the transaction", async () => {
  const { commit, inserting } = createSlowCommit();
  const first = commit(rows("first"));
  await new Promise(setImmediate);
  const second = commit(rows("second"));
  await expect.poll(() => inserting.length).toBeGreaterThan(0);
  expect(inserting[0]!.names).toEqual(["first", "second"]);
  inserting[0]!.done();
  await Promise.all([first, second]);
});

test("a transaction with requests of one workspace asks for its connection as that one, and one of several as all", async () => {
  const asked: [names: string, as: string | undefined][] = [];
  const insert = async (all: [string, { name: string }][]) => {
    asked.push([namesOf(all).join(" "), currentWorkspace()]);
  };
  const commit = createCommit({ insert, insertAlone: neverAlone, takesLocks: () => false });
  const store = (...workspaces: string[]) =>
    Promise.all(workspaces.map((workspace) => runShared(workspace, () => commit(rows(workspace)))));
  await store("one", "one");
  await store("one", "other");
  expect(asked).toEqual([
    ["one one", "small commits one"],
    ["one other", "small commits"],
  ]);
});

test("requests that share a commit go on in several turns where their work takes long", async () => {
  const commit = createCommit({ insert: async () => {}, insertAlone: neverAlone, takesLocks: () => false });
  const turns = countTurns();
  const goOn = async () => {
    await commit(rows("a"));
    for (const sinceMs = performance.now(); performance.now() - sinceMs < 3; );
    return turns.now();
  };
  const all = await runShared("one", () => Promise.all(Array.from({ length: 30 }, goOn)));
  turns.stop();
  expect(new Set(all).size).toBeGreaterThan(4);
});

test("where many wait, nobody waits another turn for more to come", async () => {
  const { commit, inserting } = createSlowCommit();
  const many = Array.from({ length: 64 }, (_, n) => commit(rows(`${n}`)));
  await new Promise(setImmediate);
  expect(inserting).toHaveLength(1);
  inserting[0]!.done();
  await Promise.all(many);
});

test("who waited too long for a transaction is refused, and nothing of it is stored", async () => {
  const { commit, inserting, fill } = createSlowCommit();
  const first = await fill();
  const early = commit(rows("early"));
  early.catch(() => {}); // looked at below
  const began = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => began + 4_000);
  const late = commit(rows("late"));
  clock.mockImplementation(() => began + 6_000);
  for (const { done } of inserting) done();
  await Promise.all(first);
  await expect.poll(() => inserting.length).toBe(AT_ONCE + 1);
  clock.mockRestore();
  expect(inserting.at(-1)!.names).toEqual(["late"]);
  inserting.at(-1)!.done();
  await late;
  const error = await early.catch((reason) => reason);
  expect(error).toBeInstanceOf(GabbroError);
  expect(error).toMatchObject({ code: "UNAVAILABLE", headers: { "retry-after": "1" } });
});

test.each([
  ["of ASCII", "x".repeat(200_000)],
  ["of Chinese", "字".repeat(66_667)],
])(
  "large requests %s are stored in transactions of half a megabyte, one after another, and small ones do not wait for them",
  async (_, large) => {
    const { commit, inserting } = createSlowCommit();
    const all = [`a${large}`, `b${large}`, `c${large}`, "d", "e", `f${large}${large}${large}`];
    const [a, b, c, d, e, f] = all.map((name) => commit(rows(name)));
    const transaction = async (letters: string) => {
      const isStarted = ({ names }: { names: string[] }) => names.map((name) => name[0]).join("") === letters;
      await expect.poll(() => inserting.some(isStarted)).toBe(true);
      return inserting.find(isStarted)!;
    };
    const first = await transaction("ab");
    (await transaction("de")).done();
    await Promise.all([d, e]);
    expect(inserting).toHaveLength(2);
    first.done();
    (await transaction("c")).done();
    (await transaction("f")).done();
    await Promise.all([a, b, c, f]);
  },
);

test("of two workspaces that store large requests none waits for more than 24 of the other", async () => {
  const { commit, inserting } = createSlowCommit();
  const large = "x".repeat(20_000);
  const store = (workspaceId: string) =>
    runShared(workspaceId, () => commit(rows(`${workspaceId[0]}${large}`)));
  const all = [...Array.from({ length: 50 }, () => store("attacker")), store("neighbour")];
  await expect.poll(() => inserting.length).toBe(2);
  expect(lettersOf(inserting[0]!)).toBe("a".repeat(24));
  expect(lettersOf(inserting[1]!)).toBe("n");
  await vi.waitUntil(() => {
    for (const { done } of inserting) done();
    return commit.waiting() === 0;
  }, 30_000);
  await Promise.all(all);
});

test.each([
  { what: "rows that lock others", size: 1, takesLocks: true },
  { what: "large requests", size: 20_000 },
])("a workspace that stores $what has one transaction, and another does not wait for it", async (given) => {
  const { commit, inserting } = createSlowCommit(given);
  const all = storeMany(commit, "attacker", 1, given.size);
  await expect.poll(() => inserting.length).toBe(1);
  all.push(...storeMany(commit, "attacker", 1, given.size), ...storeMany(commit, "neighbour", 1, given.size));
  await expect.poll(() => inserting.map(lettersOf)).toEqual(["a", "n"]);
  inserting[1]!.done();
  await all[2];
  expect(inserting).toHaveLength(2);
  inserting[0]!.done();
  await expect.poll(() => inserting.length).toBe(3);
  inserting[2]!.done();
  await Promise.all(all);
});

const lettersOf = ({ names }: { names: string[] }) => names.map((name) => name[0]).join("");

/** Stores as many requests of a workspace, each of so many characters. */
function storeMany(
  commit: ReturnType<typeof createSlowCommit>["commit"],
  workspaceId: string,
  count: number,
  size = 1,
) {
  const text = workspaceId[0]!.repeat(size);
  return Array.from({ length: count }, () => runShared(workspaceId, () => commit(rows(text))));
}

test("who has much to store shares no transaction, and those who have little share one", async () => {
  const { commit, inserting } = createSlowCommit();
  const all = [
    ...storeMany(commit, "attacker", 8, 10_000),
    ...storeMany(commit, "neighbour", 2),
    ...storeMany(commit, "bystander", 1),
  ];
  await expect.poll(() => inserting.map(lettersOf)).toEqual(["a".repeat(8), "nnb"]);
  for (const { done } of inserting) done();
  await Promise.all(all);
});

test("a workspace that stores more and more leaves others a transaction", async () => {
  const { commit, inserting } = createSlowCommit();
  const all = storeMany(commit, "attacker", 300, 10_000);
  await expect.poll(() => inserting.length).toBe(AT_ONCE);
  all.push(...storeMany(commit, "neighbour", 1));
  await expect.poll(() => inserting.slice(AT_ONCE).map(lettersOf)).toEqual(["n"]);
  await vi.waitUntil(() => {
    for (const { done } of inserting) done();
    return commit.waiting() === 0;
  });
  await Promise.all(all);
});

test("workspaces take turns at the transactions that all of them may use", async () => {
  const { commit, inserting } = createSlowCommit();
  const all = [...storeMany(commit, "attacker", 300, 10_000), ...storeMany(commit, "other", 300, 10_000)];
  await expect.poll(() => inserting.length).toBe(6);
  all.push(...storeMany(commit, "neighbour", 1));
  await new Promise(setImmediate);
  for (const letter of ["o", "a"]) inserting.find((one) => lettersOf(one)[0] === letter)!.done();
  await expect.poll(() => inserting.slice(6).map(lettersOf)).toContain("n");
  await vi.waitUntil(() => {
    for (const { done } of inserting) done();
    return commit.waiting() === 0;
  });
  await Promise.all(all);
});

const refusal = (code: string) => Object.assign(new Error("refused"), { code });
const LOCKED = "55P03";
const ORPHAN = "23503";

test("where a row has to wait for a lock, each workspace goes on with one transaction of its own", async () => {
  const alone: { workspace: string | undefined; names: string[] }[] = [];
  const commit = createCommit({
    insert: async () => Promise.reject(refusal(LOCKED)),
    insertAlone: async (all: [string, { name: string }][]) => {
      alone.push({ workspace: currentWorkspace(), names: namesOf(all) });
    },
  });
  const of = (workspace: string, names: string[]) =>
    names.map((name) => runShared(workspace, () => commit(rows(name))));
  await Promise.all([...of("one", ["a", "b"]), ...of("other", ["c"])]);
  expect(alone).toEqual([
    { workspace: "one", names: ["a", "b"] },
    { workspace: "other", names: ["c"] },
  ]);
  expect([...commit.batchSizes].slice(0, 4)).toEqual([0, 1, 1, 0]);
});

test("where one row is refused and the next has to wait for a lock, those after it are not tried one by one", async () => {
  const tried: string[][] = [];
  const alone: string[][] = [];
  const commit = createCommit({
    insert: async (all: [string, { name: string }][]) => {
      tried.push(namesOf(all));
      throw refusal(namesOf(all).includes("orphan") ? ORPHAN : LOCKED);
    },
    insertAlone: async (all: [string, { name: string }][]) => void alone.push(namesOf(all)),
  });
  const names = ["orphan", "b", "c", "d"];
  const outcomes = await Promise.allSettled(names.map((name) => commit(rows(name))));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled", "fulfilled"]);
  expect(tried).toEqual([names, ["orphan"], ["b"]]);
  expect(alone).toEqual([["b", "c", "d"]]);
});

test("who shares a transaction with a refused row of another workspace is stored before that is, one by one", async () => {
  const tried: string[][] = [];
  const commit = createCommit({
    insert: async (all: [string, { name: string }][]) => {
      tried.push(namesOf(all));
      if (namesOf(all).includes("orphan")) throw refusal(ORPHAN);
    },
    insertAlone: neverAlone,
  });
  const stored: string[] = [];
  const store = (workspace: string, name: string) =>
    runShared(workspace, () => commit(rows(name))).then(
      () => stored.push(name),
      () => stored.push(`not ${name}`),
    );
  await Promise.all(
    [..."abcdef", "orphan"].map((name) => store("one", name)).concat(store("other", "theirs")),
  );
  expect(tried.slice(0, 3)).toEqual([[..."abcdef", "orphan", "theirs"], ["theirs"], [..."abcdef", "orphan"]]);
  expect(stored[0]).toBe("theirs");
  expect(stored.toSorted()).toEqual([..."abcdef", "not orphan", "theirs"]);
});

test("a workspace whose shared transaction was refused stores its next request while the other is stored one by one", async () => {
  const gate = Promise.withResolvers<void>();
  const commit = createCommit({
    insert: async (all: [string, { name: string }][]) => {
      if (namesOf(all).includes("orphan")) throw refusal(ORPHAN);
      if (namesOf(all).includes("slow")) await gate.promise;
    },
    insertAlone: neverAlone,
    takesLocks: () => true, // one transaction at a time for each workspace
  });
  const store = (workspace: string, name: string) => runShared(workspace, () => commit(rows(name)));
  const ofOne = Promise.allSettled(["slow", "orphan"].map((name) => store("one", name)));
  await store("other", "theirs");
  await store("other", "next");
  gate.resolve();
  expect((await ofOne).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});
