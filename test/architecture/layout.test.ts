import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { breaksOfRules, cycles, readSources, shape, toSource } from "../support/sources.ts";

const readFolder = (folder: string) =>
  readSources(fileURLToPath(new URL(`../../${folder}`, import.meta.url)));

test("the sources keep the rules of the house", async () => {
  const sources = await readFolder("src");
  expect(sources.length).toBeGreaterThan(30);
  expect(breaksOfRules(sources)).toEqual([]);
});

test.each(["console/src", "bench", "faults", "packaging"])(
  "outside of src/, too, files are short and named after what they are for: %s",
  async (folder) => {
    const sources = await readFolder(folder);
    const written = sources.filter(({ path }) => !path.startsWith("gql/")); // generated from the documents
    expect(written.length).toBeGreaterThan(0);
    expect(written.flatMap(shape)).toEqual([]);
  },
);

test.each(["console/src", "bench", "faults", "packaging", "test"])(
  "no imports of %s go in a circle",
  async (folder) => {
    expect(cycles(await readFolder(folder))).toEqual([]);
  },
);

test("tests, faults and measurements share test/support, which imports none of them", async () => {
  const sources = await readFolder("test/support");
  const targets = sources.flatMap(({ path, imports }) =>
    imports.map(({ target }) => [path, target] as const),
  );
  expect(targets.filter(([, target]) => /^(?:\.\.\/)+(?:faults|bench)\/|\.test\.ts$/.test(target))).toEqual(
    [],
  );
});

test.each([
  [
    "a feature imports one to its right",
    "datasets/resolvers.ts",
    'import { x } from "../prompts/resolvers.ts";',
    "stands to its right",
  ],
  [
    "also when it is only a type",
    "datasets/rest.ts",
    'import type { X } from "../logs/entities.ts";',
    "stands to its right",
  ],
  [
    "usage imports a feature",
    "usage/usage.ts",
    'import { x } from "../logs/entities.ts";',
    "which usage/ may not",
  ],
  [
    "HTTP imports the type of a feature",
    "http/limiter.ts",
    'import type { X } from "../logs/entities.ts";',
    "which http/ may not",
  ],
  [
    "the database imports a feature",
    "database/open.ts",
    'import type { X } from "../logs/entities.ts";',
    "which database/ may not",
  ],
  [
    "validation imports the database",
    "validation/json.ts",
    'import { x } from "../database/open.ts";',
    "which validation/ may not",
  ],
  [
    "a request pauses beside the turns of its workspace",
    "datasets/rest.ts",
    'import { setImmediate } from "node:timers/promises";',
    "wait for database.turn",
  ],
  [
    "the service imports a command",
    "app.ts",
    'import { say } from "./commands/workspace.ts";',
    "app.ts imports commands/workspace.ts; only commandLine.ts may",
  ],
  [
    "a feature imports an importer",
    "logs/resolvers.ts",
    'const x = await import("../importers/langfuse.ts");',
    "only commands may",
  ],
  ["a new folder has no rule", "tools/a.ts", "", "for which there is no rule"],
  ["a source imports a test", "app.ts", 'import { x } from "../support/server.ts";', "from outside src"],
  [
    "an API imports the database",
    "datasets/graphql.ts",
    'import { x } from "../database/open.ts";',
    "which graphql.ts may not",
  ],
  [
    "inputs import resolvers",
    "datasets/inputs.ts",
    'import {\n  x,\n} from "./resolvers.ts";',
    "which inputs.ts may not",
  ],
  [
    "entities import an API",
    "prompts/entities.ts",
    'export { x } from "../graphql/builder.ts";',
    "which entities.ts may not",
  ],
  [
    "a second file names a driver",
    "app.ts",
    'const x = await import("@mikro-orm/postgresql");',
    "names the driver",
  ],
  [
    "a second file reads the environment",
    "app.ts",
    "const port = process.env.PORT;",
    "reads the environment",
  ],
  ["an API writes", "datasets/rest.ts", "await database.commit([]);", "only resolvers do"],
  ["a file is too long", "app.ts", "x;\n".repeat(251), "has 251 lines"],
  ["a file has a name that says nothing", "rest/utils.ts", "", "is not named after what it is for"],
])("the rules notice when %s", (_, path, text, message) => {
  expect(breaksOfRules([toSource(path, text)])).toEqual([expect.stringContaining(message)]);
});

test("the rules notice a circle of imports, dynamic ones and those of types included", () => {
  const circle = [
    toSource("a.ts", 'import "./b.ts";'),
    toSource("b.ts", 'const c = await import("./c.ts");'),
    toSource("c.ts", 'import type { a } from "./a.ts";'),
  ];
  expect(breaksOfRules(circle)).toEqual(["the imports go in a circle: a.ts → b.ts → c.ts → a.ts"]);
});
