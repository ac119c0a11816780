import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { breaksOfRules, cycles, readSources, toSource } from "../support/sources.ts";

test("the sources keep the rules of the house", async () => {
  const sources = await readSources(fileURLToPath(new URL("../../src", import.meta.url)));
  expect(sources.length).toBeGreaterThan(30);
  expect(breaksOfRules(sources)).toEqual([]);
});

test.each(["bench", "faults", "packaging", "test"])(
  "no file of %s imports round a circle",
  async (folder) => {
    const sources = await readSources(fileURLToPath(new URL(`../../${folder}`, import.meta.url)));
    expect(sources.length).toBeGreaterThan(2);
    expect(cycles(sources)).toEqual([]);
  },
);

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
])("the rules notice when %s", (_, path, text, told) => {
  expect(breaksOfRules([toSource(path, text)])).toEqual([expect.stringContaining(told)]);
});

test("the rules notice a circle of imports", () => {
  const circle = [
    toSource("a.ts", 'import "./b.ts";'),
    toSource("b.ts", 'import { c } from "./c.ts";'),
    toSource("c.ts", 'import type { a } from "./a.ts";'),
  ];
  expect(breaksOfRules(circle)).toEqual(["the imports go in a circle: a.ts → b.ts → c.ts → a.ts"]);
});
