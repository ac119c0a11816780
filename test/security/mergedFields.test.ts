import { type FieldNode, type GraphQLResolveInfo, Kind, parse } from "graphql";
import { __Type } from "graphql/type";
import { afterAll, expect, test, vi } from "vitest";
import { argumentDetails } from "../../src/graphql/argumentDetails.ts";
import { selectedNodeFields } from "../../src/graphql/selection.ts";
import { schema } from "../../src/schema.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const TIMES = 150;

test("a selection reads each fragment once at each level, however many equal fields spread it", () => {
  const { definitions } = parse(`
    { ${"rows { ...Rows } ".repeat(TIMES)} }
    fragment Rows on DatasetRowConnection { ${"nodes { ...Row } edges { node { ...Row } } ".repeat(TIMES)} }
    fragment Row on DatasetRow { id name }`);
  let reads = 0;
  const named = definitions.flatMap((one) =>
    one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [],
  );
  const fragments = new Proxy(Object.fromEntries(named), {
    get: (all, name: string) => {
      reads += 1;
      return all[name];
    },
  });
  const [operation] = definitions;
  const fieldNodes = (operation as { selectionSet: { selections: readonly FieldNode[] } }).selectionSet
    .selections;
  const fields = selectedNodeFields({ fieldNodes, fragments } as unknown as GraphQLResolveInfo);
  expect([...fields]).toEqual(["id", "name"]);
  expect(reads).toBe(3);
});

test("fields of introspection are counted to one end, however many of them an operation has", async () => {
  const resolve = vi.spyOn(__Type.getFields().fields!, "resolve");
  const query = `{ ${"__schema { ...S } ".repeat(TIMES)} } fragment S on __Schema { types { ${"fields { name } ".repeat(20)} } }`;
  const { body } = await server.graphql(query);
  expect(body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
  expect(resolve.mock.calls.length).toBeLessThan(20_000); // 400,000 if each was counted to its own end
  resolve.mockRestore();
});

test("the error of a wrong variable is explained by a megabyte of arguments, however many fields name the others", () => {
  let reads = 0;
  const input = {
    output: "x".repeat(400_000),
    get slug() {
      reads += 1;
      return "x";
    },
  };
  const fields = Array.from({ length: TIMES }, () => "logPrompt(input: $input) { warning }");
  const document = parse(`mutation($input: LogPromptInput!) { ${fields.join(" ")} }`);
  expect(argumentDetails(schema, document, { variables: { input } })).toEqual([]);
  expect(reads).toBeLessThan(10);
});
