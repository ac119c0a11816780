import { type CompiledQuery, sql } from "kysely";
import { afterAll, expect, test, vi } from "vitest";
import { createFairQueue } from "../../src/limits/fairQueue.ts";
import { parseTemplate } from "../../src/templates/templates.ts";
import { addWorkspace, addPrompt as storePrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const greedy = await addWorkspace(server, "greedy");
const modest = await addWorkspace(server, "modest");
const { run } = server;

const SLOW = `${"{% for i in range(1000) %}".repeat(5)}${"{% endfor %}".repeat(5)}`;
/** Takes about a quarter of a second to parse. */
const LONG = `${"{% if y %}".repeat(500)}${"{{ z }}".repeat(30_000)}${"{% endif %}".repeat(500)}`;

async function addPrompt(slug: string, text: string, token: string): Promise<unknown> {
  await run(
    "mutation($slug: String!) { createPrompt(input: { slug: $slug }) { prompt { slug } } }",
    { slug },
    token,
  );
  const create =
    'mutation($slug: String!, $text: String!) { createPromptVersion(slug: $slug, input: { version: "1", text: $text }) { promptVersion { variables { label } } } }';
  const made = await run(create, { slug, text }, token);
  await run(
    `mutation { publishPrompt(slug: "${slug}", input: { newTag: "production", to: { version: "1" } }) { promptTag { id } } }`,
    {},
    token,
  );
  return made;
}

await addPrompt("hello", "Hello", modest.token);
const hello = () => run('{ renderPrompt(slug: "hello") { text } }', {}, modest.token);

test("a workspace that renders 30 slow templates at once makes no other one wait", async () => {
  await addPrompt("slow", SLOW, greedy.token);
  const settled: string[] = [];
  const aliases = Array.from({ length: 30 }, (_, n) => `r${n}: renderPrompt(slug: "slow") { text }`);
  const slow = server.graphql(`{ ${aliases.join(" ")} }`, {}, { token: greedy.token }).then(({ body }) => {
    settled.push("greedy");
    return body;
  });
  for (let n = 0; n < 10; n++) {
    expect(await hello()).toEqual({ text: "Hello" });
    settled.push("modest");
  }
  expect((await slow).errors[0].extensions.code).toBe("BAD_INPUT");
  expect(settled).toEqual([...Array(10).fill("modest"), "greedy"]);
}, 60_000);

/**
 * What the server itself takes of the processor, as a share of what parsing the long template takes: the least of three times,
 * as the process may collect garbage of other tests meanwhile.
 */
async function shareOfParsing(work: (time: number) => Promise<unknown>): Promise<number> {
  const spent = async (of: () => unknown) => {
    const begun = process.cpuUsage();
    await of();
    return process.cpuUsage(begun).user;
  };
  const parse = () => parseTemplate({ path: "text", text: LONG });
  parse(); // the first time takes longer
  const parsing = await spent(parse);
  const times: number[] = [];
  for (let time = 0; time < 3; time++) times.push(await spent(() => work(time)));
  return Math.min(...times) / parsing;
}

test("versions are parsed and prompts rendered beside the server, which goes on serving", async () => {
  const answers: unknown[] = [];
  const share = await shareOfParsing(async (time) => {
    answers.push(await addPrompt(`long-${time}`, LONG, greedy.token));
    answers.push(await addPrompt(`wrong-${time}`, LONG.slice(0, -3), greedy.token));
  });
  const shareOfRendering = await shareOfParsing(async () => {
    // On a busy machine it may be refused, as it takes more than a second.
    await run('{ renderPrompt(slug: "long-0") { text warnings { message } } }', {}, greedy.token);
  });
  const stored = { promptVersion: { variables: [{ label: "y" }, { label: "z" }] } };
  const message = expect.stringMatching(/^Invalid input: text is not a valid template at line 1, /);
  expect(answers).toMatchObject(
    Array(3)
      .fill([stored, { error: { message } }])
      .flat(),
  );
  expect(share).toBeLessThan(0.8); // 1.2 or more when the server itself does it, else 0.2
  expect(shareOfRendering).toBeLessThan(0.8); // 1.5 when the server itself parses, else 0.1
});

test("a search of more than 200 characters is refused", async () => {
  for (const list of ["prompts", "datasets"]) {
    const search = (length: number) => run(`{ ${list}(search: "${"a".repeat(length)}") { nodes { slug } } }`);
    expect(await search(200)).toEqual([]);
    const message = "Invalid input: search must have at most 200 characters.";
    expect(await search(201)).toEqual({ error: { code: "BAD_INPUT", message, details: expect.anything() } });
  }
});

test("a search through megabytes makes no other workspace wait", async () => {
  // As it may be there from before descriptions had a bound.
  for (let n = 0; n < 20; n++) {
    const prompt = { slug: `described-${n}`, description: "a".repeat(1_000_000), workspace: "greedy" };
    await storePrompt(server, prompt);
  }
  await hello(); // from now on its process runs
  const settled: string[] = [];
  const search = run(`{ prompts(search: "${"a".repeat(150)}b") { nodes { slug } } }`, {}, greedy.token).then(
    (found) => {
      settled.push("searched");
      return found;
    },
  );
  await hello();
  settled.push("rendered");
  expect(await search).toEqual([]);
  expect(settled).toEqual(["rendered", "searched"]);
});

test("prompts by a filter, of which none may match, are found where searches are, and not by this process", async () => {
  const findIds = vi.spyOn(server.database.search, "findIds");
  const query = "query($f: PromptFilter) { prompts(filter: $f) { nodes { slug } } }";
  for (const filter of [{ slug: ["hello"] }, { not: { slug: ["slow"] } }, { featureSlug: ["none"] }]) {
    const found = (await server.graphql(query, { f: filter })).body.data.prompts.nodes;
    expect(found).toEqual([]); // they are of others
    expect(findIds).toHaveBeenCalledOnce();
    findIds.mockClear();
  }
  findIds.mockRestore();
});

test("a search without an end is ended after 5 seconds, and the next one is served", async () => {
  const { search } = server.database;
  const endless = sql<{ id: string }>`
    with recursive n(i) as (select 1 union all select i + 1 from n) select cast(i as text) as id from n where i < 0`;
  const kysely = server.database.orm.em.getKysely();
  const query = { compile: () => endless.compile(kysely) as CompiledQuery<{ id: string }> };
  let isEnded = false;
  const refused = expect(
    search.findIds(greedy.id, query).finally(() => {
      isEnded = true;
    }),
  ).rejects.toMatchObject({ code: "TIMED_OUT" });
  expect(await run('{ prompts(search: "hell") { nodes { slug } } }', {}, modest.token)).toEqual([
    { slug: "hello" },
  ]);
  expect(isEnded).toBe(false);
  await refused;
  expect(await run('{ prompts(search: "hell") { nodes { slug } } }', {}, greedy.token)).toEqual([]);
}, 30_000);

test("workspaces take turns, none takes more than half of the places, and what waits is bounded", async () => {
  const queue = createFairQueue({ places: 2, maxWaiting: 3, maxWaitMs: 60_000, busy: "Too much waits." });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const add = (workspaceId: string) =>
    queue.run(workspaceId, () => {
      begun.push(workspaceId);
      return new Promise<void>((end) => {
        ends.push(end);
      });
    });
  const all = [..."aaaabbcc"].map(add);
  await expect(add("a")).rejects.toMatchObject({ code: "UNAVAILABLE", headers: { "retry-after": "1" } });
  expect(begun.join("")).toBe("ab");
  for (let n = 0; n < all.length; n++) {
    ends[n]!();
    await new Promise(setImmediate);
  }
  await Promise.all(all);
  expect(begun.join("")).toBe("abcabcaa");
});

test("the last places are left to workspaces that have one at most", async () => {
  const limits = { places: 6, share: 3, spare: 2, maxWaiting: 9, maxWaitMs: 60_000 };
  const queue = createFairQueue({ ...limits, busy: "Too much waits." });
  const begun: string[] = [];
  const ends = [..."aabccad"].map((workspaceId) =>
    queue.acquire(workspaceId).then((end) => {
      begun.push(workspaceId);
      return end;
    }),
  );
  const begunNow = async () => {
    await new Promise(setImmediate);
    return begun.join("");
  };
  expect(await begunNow()).toBe("aabccd"); // c gets its second place, and the third of a waits
  for (const at of [6, 4]) (await ends[at]!)();
  expect(await begunNow()).toBe("aabccd");
  (await ends[3]!)();
  expect(await begunNow()).toBe("aabccda");
});

test("what has waited for too long is refused instead of run", async () => {
  const queue = createFairQueue({ places: 2, maxWaiting: 3, maxWaitMs: -1, busy: "Too much waits." });
  await expect(queue.run("a", async () => "late")).rejects.toThrow("Too much waits.");
});
