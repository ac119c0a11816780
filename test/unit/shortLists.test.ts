import {
  GraphQLList,
  GraphQLObjectType,
  type GraphQLResolveInfo,
  GraphQLSchema,
  GraphQLString,
  type OperationDefinitionNode,
  parse,
} from "graphql";
import { expect, test } from "vitest";
import type { Context } from "../../src/context.ts";
import { countLists } from "../../src/graphql/lists.ts";
import { newAnswerBudget } from "../../src/limits/answerBudget.ts";

test("a list that waits for a turn is a promise where it fits into one, and else an iterator", async () => {
  const names = { type: new GraphQLList(GraphQLString), resolve: (list: string[]) => list };
  const query = new GraphQLObjectType({ name: "Query", fields: { names } });
  const schema = countLists(new GraphQLSchema({ query }));
  const { resolve } = schema.getQueryType()!.getFields().names!;
  const [operation] = parse("{ names }").definitions;
  const { selections } = (operation as OperationDefinitionNode).selectionSet;
  const info = { schema, fragments: {}, fieldNodes: selections, returnType: names.type, operation };
  const context = {
    answerBudget: newAnswerBudget(),
    database: { turn: async () => {} },
    access: { workspaceId: "a" },
    deadline: { atMs: Number.POSITIVE_INFINITY },
  };
  const listOf = (count: number) =>
    resolve!(
      Array(count).fill("x"),
      {},
      context as unknown as Context,
      info as unknown as GraphQLResolveInfo,
    );
  expect(listOf(4_999)).toHaveLength(4_999);
  const short = listOf(4);
  expect(short).toBeInstanceOf(Promise);
  expect(await short).toHaveLength(4);
  expect(Symbol.asyncIterator in (listOf(20_000) as object)).toBe(true);
});
