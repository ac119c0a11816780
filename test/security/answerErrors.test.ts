import { graphql, parse } from "graphql";
import { afterAll, expect, test, vi } from "vitest";
import type { Context } from "../../src/context.ts";
import { costOf } from "../../src/graphql/cost.ts";
import {
  holdAnswerFields,
  MAX_ANSWER_BYTES,
  newAnswerBudget,
  spendAnswerFields,
} from "../../src/limits/answerBudget.ts";
import { checkDeadline } from "../../src/limits/deadline.ts";
import {
  availableTagsOf,
  availableVersionsOf,
  findPromptById,
  withinBudget,
} from "../../src/prompts/resolvers.ts";
import { schema } from "../../src/schema.ts";
import { FIRST_WORKSPACE } from "../../src/workspaces/firstWorkspace.ts";
import { authorize, commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

async function newContext(hold?: (bytes: number) => void): Promise<Context> {
  const workspaceId = await getWorkspaceId(server.database, FIRST_WORKSPACE);
  return { ...commandLineContext(server.database, workspaceId), answerBudget: newAnswerBudget({ hold }) };
}

const spentOf = ({ answerBudget }: Context) => MAX_ANSWER_BYTES - answerBudget.leftBytes;

test("the error of a wrong argument counts 8,000 bytes towards the answer", async () => {
  const contextValue = await newContext();
  const { errors } = await graphql({ schema, source: "{ prompts(first: -1) { __typename } }", contextValue });
  expect(errors).toHaveLength(1);
  expect(spentOf(contextValue)).toBe(8_000);
});

test("so does that of a missing scope", async () => {
  const context = await newContext();
  const reader = { ...context, access: { ...context.access!, scopes: ["read" as const] } };
  expect(() => authorize(reader, "write")).toThrow("lacks the scope");
  expect(spentOf(reader)).toBe(8_000);
});

test("lists that a mutation returns are not refused for what other answers hold", async () => {
  const contextValue = await newContext(() => {
    throw new Error("too much is held");
  });
  const log = 'logPrompt(input: { slug: "none", output: "x" }) { warnings { code } }';
  const stored = await graphql({ schema, source: `mutation { ${log} }`, contextValue });
  expect(stored).toMatchObject({ data: { logPrompt: { warnings: [{ code: "PROMPT_NOT_FOUND" }] } } });
  const source = "{ scopes: __typename modelPrices(first: 1) { nodes { id } } }";
  expect((await graphql({ schema, source, contextValue })).errors?.[0]?.message).toBe("too much is held");
});

test("fields of lists count towards what all answers hold, and those beyond the limit have one error", async () => {
  const held: number[] = [];
  const context = await newContext((bytes) => held.push(bytes));
  holdAnswerFields(context, 1_000);
  expect(held).toEqual([100_000]);
  const errors = [200_001, 1, 1].map((fields) => {
    try {
      return spendAnswerFields(context, fields);
    } catch (error) {
      return error;
    }
  });
  expect(errors[0]).toMatchObject({ code: "QUERY_TOO_COMPLEX" });
  expect(new Set(errors).size).toBe(1);
});

test("all that is late in a request fails with one error", async () => {
  const deadline = { atMs: performance.now() - 1 };
  const errors = [1, 2].map(() => {
    try {
      return checkDeadline({ deadline });
    } catch (error) {
      return error;
    }
  });
  expect(errors[0]).toMatchObject({ code: "TIMED_OUT" });
  expect(errors[1]).toBe(errors[0]);
});

test("the names of a prompt's versions and tags are made once for all fields that ask for them", async () => {
  await addPrompt(server, { slug: "named", versions: [{ version: "1" }, { version: "2" }] });
  const { body } = await server.graphql('{ prompt(slug: "named") { id } }');
  const context = await newContext();
  const { id } = (await findPromptById(context, body.data.prompt.id))!;
  const prompt = { id } as Parameters<typeof availableVersionsOf>[1] & Parameters<typeof availableTagsOf>[1];
  for (const namesOf of [availableVersionsOf, availableTagsOf]) {
    const [one, other] = await Promise.all([namesOf(context, prompt), namesOf(context, prompt)]);
    expect(one!.length).toBeGreaterThan(0);
    expect(other).toBe(one);
  }
});

test("names and descriptions of prompts count as long as they are in JSON", async () => {
  const context = await newContext();
  withinBudget(context, [{ name: "\u0001", description: "\u0001".repeat(1_000) }] as Parameters<
    typeof withinBudget
  >[1]);
  expect(spentOf(context)).toBe(500 + 6 + 6_000);
});

test("variables that the cost does not need are read once, however many pages name one", () => {
  let reads = 0;
  const variables = new Proxy({ n: 1 } as Record<string, unknown>, {
    ownKeys: (all) => {
      reads += 1;
      return Reflect.ownKeys(all);
    },
  });
  const pages = "rows(first: $n) { __typename } ".repeat(100);
  const document = parse(`query($n: Int) { dataset(slug: "x") { ${pages} } }`);
  const [operation] = document.definitions;
  costOf(schema, document, operation as Parameters<typeof costOf>[2], variables);
  expect(reads).toBe(1);
});

test("the items of a list in an argument cost as much as fields, for each entry around them", async () => {
  const headers = { "gabbro-cost": "1" };
  const costOfTypes = async (types: number) => {
    const list = "SPAN ".repeat(types);
    const query = `{ logs(first: 10) { nodes { trace { logs(first: 1, types: [${list}]) { __typename } } } } }`;
    return (await server.graphql(query, {}, { headers })).body.extensions.cost.maxFields;
  };
  expect((await costOfTypes(7)) - (await costOfTypes(2))).toBe(5 * 10);
});

test.each(["log", "trace"])(
  "of an id of a %s that is none nothing is written in lower case",
  async (field) => {
    const lower = vi.spyOn(String.prototype, "toLowerCase");
    const { body } = await server.graphql(`query($id: ID!) { ${field}(id: $id) { id } }`, {
      id: "İ".repeat(1_000),
    });
    const long = lower.mock.contexts.filter((text) => String(text).startsWith("İİ"));
    lower.mockRestore();
    expect(body.errors[0].message).toContain(`must be the id of a ${field}`);
    expect(long).toEqual([]);
  },
);

test("what is selected of the entries of an empty page costs as much as one entry", async () => {
  const headers = { "gabbro-cost": "1" };
  const query = (first: number) =>
    `{ dataset(slug: "none") { rows(first: ${first}) { nodes { id name } } } }`;
  const costs = await Promise.all(
    [0, 1].map(
      async (first) => (await server.graphql(query(first), {}, { headers })).body.extensions.cost.maxFields,
    ),
  );
  expect(costs[0]).toBe(costs[1]);
});
