import { readFile } from "node:fs/promises";
import {
  BreakingChangeType,
  buildSchema,
  findSchemaChanges,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from "graphql";
import { expect, test } from "vitest";
import { printedSchema } from "../../src/schema.ts";

const read = (path: string) => readFile(new URL(path, import.meta.url), "utf8");

/** The schema of the last release. A release replaces it by its own. */
const released = await read("../support/releasedSchema.graphql");
const [, newest] = (await read("../../CHANGELOG.md")).split(/^## /m);

/** The changes that break clients of the old schema and are not named in the changelog, as `Type.field`. */
function unannouncedBreaks(before: string, after: string, changelog: string): string[] {
  return findSchemaChanges(buildSchema(before), buildSchema(after))
    .filter(({ type }) => type in BreakingChangeType)
    .filter(({ description }) => !changelog.includes(`\`${coordinateIn(description)}\``))
    .map(({ description }) => description);
}

/** The schema coordinate that the description of a change names. */
const coordinateIn = (description: string) =>
  /\b[A-Z]\w*\.\w+(?:\(\w+:\))?/.exec(description)?.[0] ??
  /\b[A-Z]\w*(?= (?:was|changed|no longer)\b)/.exec(description)?.[0];

test("what breaks clients of the last release is announced in the changelog", () => {
  expect(unannouncedBreaks(released, printedSchema(), newest!)).toEqual([]);
});

test.each([
  ["a field that is gone", "  rowCount: Int!", "  count: Int!", "Dataset.rowCount"],
  ["a field of another type", "rowCount: Int!", "rowCount: String!", "Dataset.rowCount"],
  ["a value of an enum that is gone", "  PUBLISH\n", "  RELEASE\n", "Scope.PUBLISH"],
  [
    "an argument that is needed now",
    "groupBy: UsageGroup\n",
    "groupBy: UsageGroup!\n",
    "Query.usage(groupBy:)",
  ],
])("%s breaks clients, unless the changelog names it", (_, found, replacement, coordinate) => {
  expect(released).toContain(found);
  const changed = released.replace(found, replacement);
  expect(unannouncedBreaks(released, changed, newest!)).toEqual([expect.stringContaining(coordinate)]);
  expect(unannouncedBreaks(released, changed, `- \`${coordinate}\` is gone.`)).toEqual([]);
});

test("a type that is gone breaks clients, unless the changelog names it", () => {
  const before = `${released}\ntype Gone { id: ID! }`;
  expect(unannouncedBreaks(before, released, newest!)).toEqual([expect.stringContaining("Gone")]);
  expect(unannouncedBreaks(before, released, "- `Gone` is gone.")).toEqual([]);
});

test("what is deprecated says since which release, and what to use instead", () => {
  const reasons = deprecationsOf(buildSchema(printedSchema()));
  expect(reasons.length).toBeGreaterThan(0);
  for (const reason of reasons) expect(reason).toMatch(/^Since \d+\.\d+\.\d+: use `\w+`/);
});

function deprecationsOf(schema: GraphQLSchema): string[] {
  return Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isEnumType(type)) return type.getValues().flatMap((value) => value.deprecationReason ?? []);
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [];
    return Object.values(type.getFields()).flatMap((field) =>
      [field, ...("args" in field ? field.args : [])].flatMap((one) => one.deprecationReason ?? []),
    );
  });
}
