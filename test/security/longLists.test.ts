import { PassThrough } from "node:stream";
import { graphql } from "graphql";
import { afterAll, expect, test, vi } from "vitest";
import type { Context } from "../../src/context.ts";
import { newId } from "../../src/database/ids.ts";
import { newAnswerBudget } from "../../src/limits/answerBudget.ts";
import { createAnswerMemory } from "../../src/limits/answerMemory.ts";
import { passTurns } from "../../src/limits/turns.ts";
import { schema } from "../../src/schema.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { newToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const workspace = await getWorkspaceId(server.database, "default");

const ENTRIES = 12;
for (let n = 0; n < ENTRIES; n++) {
  const price = `setModelPrice(input: { model: "m${n}", inputPrice: 1, outputPrice: 1 })`;
  await server.run(`mutation { ${price} { modelPrice { id } } }`);
  await server.post("/monitor/log", { slug: `s${n}`, output: "a" });
}
const rows = Array.from({ length: ENTRIES }, (_, n) => ({ values: { a: `${n}` } }));
await addDataset(server, { slug: "listed", columns: [{ name: "a", type: "text" }], rows });

const input = { name: "many", scopes: ["read" as const], expiresAt: null };
const tokens = Array.from({ length: 1_100 }, () => newToken(workspace, input).row);
await server.database.commit(tokens.map((row) => ["AccessToken", row]));

/** Executes a document, and returns what its answer holds of the memory of all answers, too. */
async function ask(source: string, changes: Partial<Context> = {}) {
  let heldBytes = 0;
  const hold = (bytes: number) => {
    heldBytes += bytes;
  };
  const own = commandLineContext(server.database, workspace);
  const contextValue = { ...own, answerBudget: newAnswerBudget({ hold }), ...changes };
  const { data, errors } = await graphql({ schema, source, contextValue });
  // biome-ignore lint/suspicious/noExplicitAny: a document may ask for any shape
  return { data: data as any, message: errors?.[0]?.message, heldBytes };
}

test.each([
  ["the audit log", "{ auditLog(first: FIRST) { nodes { id } } }", 1_000],
  ["access tokens", "{ accessTokens(first: FIRST) { nodes { id } } }", 1_000],
  ["model prices", "{ modelPrices(first: FIRST) { nodes { id } } }", 1_000],
  ["logs", "{ logs(first: FIRST) { nodes { id } } }", 4_000],
  ["traces", "{ traces(first: FIRST) { nodes { id } } }", 1_000],
  ["rows", '{ dataset(slug: "listed") { rows(first: FIRST) { nodes { id } } } }', 100],
])("each entry of a list of %s counts towards the memory of all answers", async (_, query, entryBytes) => {
  const heldFor = async (first: number) => {
    const { message, heldBytes } = await ask(query.replace("FIRST", String(first)));
    expect(message).toBeUndefined();
    return heldBytes;
  };
  const fieldBytes = 100; // its id
  expect((await heldFor(9)) - (await heldFor(2))).toBe(7 * (entryBytes + fieldBytes));
});

const LIST = "variables { label }";
const longMutation = (aliases: number) => {
  const lists = Array.from({ length: aliases }, (_, n) => `a${n}: ${LIST}`).join(" ");
  return `mutation { updatePrompt(slug: "varied", input: { name: "n" }) { prompt { latest { ${lists} } } } }`;
};
const variables = Array.from({ length: 1_000 }, (_, n) => ({ label: `v${n}` }));
const version = { version: "1", text: "x", variables };
await server.run('mutation { createPrompt(input: { slug: "varied" }) { prompt { slug } } }');
const create = 'createPromptVersion(slug: "varied", input: $input) { promptVersion { id } }';
await server.run(`mutation($input: PromptVersionInput!) { ${create} }`, { input: version });

test("an answer to a mutation with more than 5,000 fields in lists waits for its turn, and no other one does", async () => {
  const turn = Promise.withResolvers<void>();
  const beAlone = vi.fn(() => turn.promise);
  const withTurn = () => ({ answerBudget: newAnswerBudget({ beAlone }) });
  expect((await ask(longMutation(5), withTurn())).data.updatePrompt.prompt.latest.a4).toHaveLength(1_000);
  const { data } = await ask(`{ prompt(slug: "varied") { latest { ${LIST} } } }`, withTurn());
  expect(data.prompt.latest.variables).toHaveLength(1_000);
  expect(beAlone).not.toHaveBeenCalled();

  let isAnswered = false;
  const long = ask(longMutation(6), withTurn()).finally(() => (isAnswered = true));
  await expect.poll(() => beAlone.mock.calls.length).toBe(1);
  await passTurns();
  expect(isAnswered).toBe(false);
  turn.resolve();
  expect((await long).data.updatePrompt.prompt.latest.a5).toHaveLength(1_000);
});

test("long answers to mutations of a workspace have their turns until they are closed", async () => {
  const { beAlone } = createAnswerMemory();
  const [first, second, other] = Array.from({ length: 3 }, () => new PassThrough());
  await beAlone(first!, "one");
  await beAlone(first!, "one"); // its further lists
  await beAlone(other!, "another");
  let hasTurn = false;
  const turn = beAlone(second!, "one").then(() => (hasTurn = true));
  await passTurns();
  expect(hasTurn).toBe(false);
  first!.destroy();
  await turn;
});

test("each token that a checkup reads counts towards the memory of all answers", async () => {
  const { message, heldBytes } = await ask("{ checkup { findingCount } }");
  expect(message).toBeUndefined();
  expect(heldBytes).toBeGreaterThanOrEqual(tokens.length * 300);
});

test.each(["first", "last"])(
  "a page of the %s 1,000 entries is read 200 at a time, with others served in between",
  async (end) => {
    const turn = vi.spyOn(server.database, "turn");
    const stop = await captureStatements(server);
    const page = "nodes { id } pageInfo { hasNextPage hasPreviousPage }";
    const { data } = await ask(`{ accessTokens(${end}: 1000) { ${page} } }`);
    const read = stop().filter(({ sql }) => /from ["`]access_tokens["`].* order by/s.test(sql));
    expect([read.length, turn.mock.calls.length]).toEqual([6, 5]);
    turn.mockRestore();
    const all = await server.database.read.selectFrom("AccessToken").select("id").orderBy("id").execute();
    expect(data.accessTokens).toEqual({
      nodes: end === "first" ? all.slice(0, 1_000) : all.slice(-1_000),
      pageInfo: { hasNextPage: end === "first", hasPreviousPage: end === "last" },
    });
  },
);

const sessionOf = (token: string) => {
  const id = newId();
  return { id, workspace, token, hash: id.padEnd(64, "0"), createdAt: new Date(), lastUsedAt: new Date() };
};

test.each(["first", "last"])(
  "sessions of tokens that have expired are passed over 500 at a time, with others served in between: %s",
  async (end) => {
    const [expired, valid] = [tokens[0]!.id, tokens[1]!.id];
    await server.database.write.deleteFrom("ConsoleSession").execute();
    await server.database.write
      .updateTable("AccessToken")
      .set({ expiresAt: new Date() })
      .where("id", "=", expired)
      .execute();
    const sessions = [valid, ...Array<string>(1_200).fill(expired), valid].map(sessionOf);
    await server.database.commit(sessions.map((row) => ["ConsoleSession", row]));
    const turn = vi.spyOn(server.database, "turn");
    const { data } = await ask(`{ consoleSessions(${end}: 5) { nodes { id } } }`);
    expect(data.consoleSessions.nodes).toEqual(
      [sessions[0], sessions.at(-1)].map((one) => ({ id: one!.id })),
    );
    expect(turn).toHaveBeenCalledTimes(2);
    turn.mockRestore();
  },
);

test("a request that has timed out reads no list", async () => {
  const stop = await captureStatements(server);
  const { message } = await ask("{ auditLog { nodes { id } } }", { deadline: { atMs: 0 } });
  expect([message, stop()]).toEqual([expect.stringContaining("This request took too long"), []]);
});
