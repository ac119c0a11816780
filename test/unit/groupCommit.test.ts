import { expect, test, vi } from "vitest";
import { createCommit } from "../../src/database/groupCommit.ts";
import { GabbroError } from "../../src/errors.ts";

const AT_ONCE = 4;
const rows = (name: string) => [["Thing", { name }]] as never;

/** A group commit over a database that stores when it is told to. */
function createSlowCommit() {
  const inserting: { names: string[]; done(): void }[] = [];
  const commit = createCommit((all: [string, { name: string }][]) => {
    const { promise, resolve: done } = Promise.withResolvers<void>();
    inserting.push({ names: all.map(([, { name }]) => name), done });
    return promise;
  });
  /** Begins as many transactions as there may be, each with one request. */
  const fill = async () => {
    const stored = [];
    for (let n = 0; n < AT_ONCE; n++) {
      stored.push(commit(rows(`${n}`)));
      await vi.waitUntil(() => inserting.length === n + 1);
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
  await vi.waitUntil(() => inserting.length === AT_ONCE + 1);
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
  await vi.waitUntil(() => inserting.length > 0);
  expect(inserting[0]!.names).toEqual(["first", "second"]);
  inserting[0]!.done();
  await Promise.all([first, second]);
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
  clock.mockRestore();
  await vi.waitUntil(() => inserting.length === AT_ONCE + 1);
  expect(inserting.at(-1)!.names).toEqual(["late"]);
  inserting.at(-1)!.done();
  await late;
  const error = await early.catch((reason) => reason);
  expect(error).toBeInstanceOf(GabbroError);
  expect(error).toMatchObject({ code: "UNAVAILABLE", headers: { "retry-after": "1" } });
});

test("large requests have transactions of their own, one after another", async () => {
  const { commit, inserting, fill } = createSlowCommit();
  const first = await fill();
  const large = "x".repeat(3 * 1024 * 1024);
  const later = [`a${large}`, `b${large}`, "c", "d", `e${large}${large}`].map((name) => commit(rows(name)));
  for (const { done } of inserting.splice(0)) done();
  const shared: string[][] = [];
  while (shared.flat().length < later.length) {
    await vi.waitUntil(() => inserting.length === 1);
    const [{ names, done }] = inserting.splice(0) as [(typeof inserting)[0]];
    shared.push(names.map((name) => name[0]!));
    done();
  }
  expect(shared).toEqual([["a"], ["b", "c", "d"], ["e"]]);
  await Promise.all([...first, ...later]);
});
