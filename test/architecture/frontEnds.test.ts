import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type GraphQLInputType, getNamedType, isEnumType, isInputObjectType } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { printedSchema } from "../../src/schema.ts";
import { type ConnectionField, connections } from "../support/connections.ts";
import type { Fixtures } from "../support/fixtures.ts";
import { graphqlOperations } from "../support/operations.ts";

// The tools that front ends read the schema with, as a front end runs them.

const here = fileURLToPath(new URL("../support/frontEnds", import.meta.url));
const root = join(here, "../../..");
const tool = (path: string) => join(here, "node_modules", path);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  await symlink(tool(""), join(folder, "node_modules"), "junction");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a program of Node.js to its end. */
function run(cwd: string, args: string[], input = ""): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
    child.stdin!.end(input);
  });
}

async function folderWith(files: Record<string, string>): Promise<string> {
  const made = await mkdtemp(join(folder, "project-"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(made, name, ".."), { recursive: true });
    await writeFile(join(made, name), text);
  }
  return made;
}

test("the schema keeps the recommended rules of graphql-eslint, and those for Relay", async () => {
  expect(await lint(printedSchema())).toEqual({ code: 0, output: "" });
});

test.each([
  ["a type without a description", "type Extra implements Node { id: ID! }", "require-description"],
  ["a type without an id", '"""x"""\ntype Extra { """x""" name: String! }', "strict-id-in-types"],
  [
    "a deprecation without a reason",
    '"""x"""\nenum Extra { """x""" A @deprecated }',
    "require-deprecation-reason",
  ],
])("%s breaks the rules", async (_, extra, rule) => {
  const { code, output } = await lint(`${printedSchema()}\n${extra}\n`);
  expect([code, output]).toEqual([1, expect.stringContaining(rule)]);
});

async function lint(text: string) {
  const project = await folderWith({ "schema.graphql": text });
  await writeFile(join(project, "eslint.config.js"), await readFile(join(here, "eslint.config.js"), "utf8"));
  return run(project, [tool("eslint/bin/eslint.js"), "schema.graphql"]);
}

function someValue(type: GraphQLInputType): string {
  const named = getNamedType(type);
  if (isEnumType(named)) return named.getValues()[0]!.name;
  return isInputObjectType(named) ? "{}" : '"2026-01-01"';
}

/** What Relay makes of a connection: a fragment that reads one page after another. */
function paginationFragment({ type, field }: ConnectionField): string {
  const name = `${type.name}_${field.name}`;
  const more = field.args
    .filter(({ type }) => String(type).endsWith("!"))
    .map(({ name, type }) => `${name}: ${someValue(type)}, `);
  return `graphql\`fragment fragments_${name} on ${type.name}
    @refetchable(queryName: "fragments${name}Query")
    @argumentDefinitions(count: { type: "Int", defaultValue: 10 }, cursor: { type: "String" }) {
      ${field.name}(${more.join("")}first: $count, after: $cursor) @connection(key: "${name}_${field.name}") {
        edges { cursor node { __typename } } pageInfo { endCursor hasNextPage }
      }
    }\`;`;
}

async function compileForRelay(text: string) {
  const config = {
    src: "./src",
    schema: "./schema.graphql",
    language: "typescript",
    artifactDirectory: "./made",
  };
  const project = await folderWith({
    "relay.config.json": JSON.stringify(config),
    "schema.graphql": text,
    "src/fragments.ts": [...connections.values()].map(paginationFragment).join("\n"),
    "made/.keep": "",
  });
  return run(project, [tool("relay-compiler/cli.js"), "relay.config.json"]);
}

test("Relay's compiler takes the schema, and a pagination fragment on every connection", async () => {
  expect(connections.size).toBeGreaterThan(11);
  const { code, output } = await compileForRelay(printedSchema());
  expect([code, output]).toEqual([0, expect.stringContaining(`${2 * connections.size} reader`)]);
});

test.each([
  ["pages that do not say whether more follow", "hasNextPage: Boolean!", "more: Boolean!"],
  ["datasets that are no nodes", "type Dataset implements Node", "type Dataset"],
])("Relay's compiler refuses %s", async (_, found, replacement) => {
  const { code, output } = await compileForRelay(printedSchema().replace(found, replacement));
  expect([code, output]).toEqual([1, expect.stringContaining("error")]);
});

/** Only the documents are used, so any name will do. */
const anyFixtures = new Proxy({} as Fixtures, { get: () => "any" });
const documents = graphqlOperations.map(({ request }) => request(anyFixtures).query);

/** The TypeScript types of the scalars, as the API guide says; the generator refuses a scalar that is not among them. */
const guide = await readFile(join(root, "docs/api.md"), "utf8");
const scalars = Object.fromEntries(
  [...guide.matchAll(/^\| `(\w+)` \| `(.+)` \| `(.+)` \|$/gm)].map(([, name, input, output]) => [
    name!,
    { input: input!.replaceAll("\\|", "|"), output },
  ]),
);

/** Generates typed documents of every operation, and type checks them with a program that uses one. */
async function generateTypes(program: string) {
  expect(Object.keys(scalars)).toContain("DateTime");
  const project = await folderWith({ "program.ts": program });
  const input = JSON.stringify({ folder: join(project, "gql"), schema: printedSchema(), documents, scalars });
  expect(await run(here, ["generate.js"], input)).toEqual({ code: 0, output: "" });
  const options =
    "--strict --noEmit --target esnext --module nodenext --types node --allowImportingTsExtensions";
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  return run(root, [compiler, "--ignoreConfig", ...options.split(" "), join(project, "program.ts")]);
}

const PROGRAM = `
  import type { DatasetQuery, LogPromptMutationVariables } from "./gql/graphql.ts";
  export const titles = ({ dataset }: DatasetQuery): string[] =>
    dataset?.rows.nodes.map(({ values }) => String(values.title)) ?? [];
  export const variables: LogPromptMutationVariables = {
    input: { slug: "guide", output: { any: ["JSON"] }, startTime: Date.now(), metadata: { region: "eu" } },
  };`;

test("the client preset of Code Generator makes types of every operation that hold under strict", async () => {
  expect(await generateTypes(PROGRAM)).toEqual({ code: 0, output: "" });
});

test("those types refuse what the schema does not have", async () => {
  const { code, output } = await generateTypes(PROGRAM.replace("rows.nodes", "rows.entries"));
  expect([code, output]).toEqual([1, expect.stringContaining("'entries' does not exist")]);
});
