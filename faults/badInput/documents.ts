import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import { spoilValue } from "./bodies.ts";
import { type Material, oddText, oddValue } from "./material.ts";
import { type Known, plausibleMoment, plausibleNumber, plausibleObject, plausibleText } from "./plausible.ts";

export interface Drawn {
  query: string;
  variables: Record<string, unknown>;
}

interface Drawing {
  material: Material;
  schema: GraphQLSchema;
  known: Known;
  variables: Record<string, unknown>;
  definitions: string[];
}

const MAX_DEPTH = 4;
const WRONG = 0.1;

/** A document of a schema with its variables: any operation with plausible arguments, or with wrong ones. */
export function drawDocument(material: Material, schema: GraphQLSchema, known: Known): Drawn {
  const drawing: Drawing = { material, schema, known, variables: {}, definitions: [] };
  const [kind, type] = material.oneOf([
    ["query", schema.getQueryType()!],
    ["mutation", schema.getMutationType()!],
    ["query", schema.getQueryType()!],
    ["mutation", schema.getMutationType()!],
    ...(material.chance(0.1) ? [["subscription", schema.getSubscriptionType()!] as const] : []),
  ] as const);
  // What is removed is not there for the cases that follow.
  const fields = Object.values(type.getFields()).filter(
    ({ name }) => !name.startsWith("delete") || material.chance(0.2),
  );
  const draw = () => selection(drawing, material.oneOf(fields), 1);
  const selections = [draw(), ...(material.chance(0.3) ? [`other: ${draw()}`] : [])];
  const spoilt = material.chance(0.1) ? spoilSelections(material, selections) : selections;
  const definitions = drawing.definitions.length > 0 ? `(${drawing.definitions.join(", ")})` : "";
  const query = `${kind} ${material.chance(0.2) ? "Named" : ""}${definitions} { ${spoilt.join(" ")} }`;
  return { query: material.chance(0.08) ? spoilText(material, query) : query, variables: drawing.variables };
}

function selection(drawing: Drawing, field: GraphQLField<unknown, unknown>, depth: number): string {
  const { material } = drawing;
  const given = field.args.filter((arg) =>
    isNonNullType(arg.type) ? !material.chance(0.03) : material.chance(0.4),
  );
  const args = given.map((arg) => `${arg.name}: ${argument(drawing, arg)}`);
  const type = getNamedType(field.type);
  const inner = isCompositeType(type) ? ` { ${within(drawing, type, depth)} }` : "";
  return `${field.name}${args.length > 0 ? `(${args.join(", ")})` : ""}${inner}`;
}

function within(drawing: Drawing, type: GraphQLNamedType, depth: number): string {
  const { material } = drawing;
  if (!isObjectType(type)) return "__typename";
  const fields = Object.values(type.getFields()).filter(
    (field) => depth < MAX_DEPTH || !isCompositeType(getNamedType(field.type)),
  );
  const chosen = fields.filter(() => material.chance(0.25));
  return ["__typename", ...chosen.map((field) => selection(drawing, field, depth + 1))].join(" ");
}

function argument(drawing: Drawing, { name, type }: GraphQLArgument): string {
  const { material, variables, definitions } = drawing;
  const plausible = inputValue(drawing, type, name);
  const value = material.chance(WRONG) ? spoilValue(material, plausible) : plausible;
  if (material.chance(0.3)) return literal(value, getNamedType(type));
  const variable = `v${definitions.length}`;
  const typeName = material.chance(0.02)
    ? material.oneOf(["Int", "[String]", "Nope", "Log", "JSON!"])
    : String(type);
  const byDefault = material.chance(0.05) ? ` = ${literal(value, getNamedType(type))}` : "";
  definitions.push(`$${variable}: ${typeName}${byDefault}`);
  if (!material.chance(0.03)) variables[variable] = value;
  return `$${variable}`;
}

/** A value such as a type of the schema asks for. */
function inputValue(drawing: Drawing, type: GraphQLInputType, name: string): unknown {
  const { material, known } = drawing;
  if (!isNonNullType(type) && material.chance(0.1)) return null;
  const nullable = getNullableType(type) as GraphQLInputType;
  if (isListType(nullable))
    return material.some(3, () => inputValue(drawing, nullable.ofType as GraphQLInputType, name));
  if (isEnumType(nullable)) return material.oneOf(nullable.getValues()).name;
  if (isInputObjectType(nullable)) {
    const fields = Object.values(nullable.getFields()).filter(
      (field) => isNonNullType(field.type) || material.chance(0.4),
    );
    return Object.fromEntries(
      fields.map((field) => [field.name, inputValue(drawing, field.type, field.name)]),
    );
  }
  return scalars[getNamedType(nullable).name]!(material, name, known);
}

const scalars: Record<string, (material: Material, name: string, known: Known) => unknown> = {
  String: plausibleText,
  ID: plausibleText,
  Int: plausibleNumber,
  Float: (material) => plausibleNumber(material) / 8,
  Boolean: (material) => material.chance(0.5),
  DateTime: plausibleMoment,
  JSON: (material, name) => (name === "items" ? { values: plausibleObject(material) } : oddOrJson(material)),
  JSONObject: plausibleObject,
};

const oddOrJson = (material: Material) => (material.chance(0.3) ? oddValue(material) : material.json());

/** A value in the language of GraphQL. */
function literal(value: unknown, type: GraphQLNamedType): string {
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, type)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = isInputObjectType(type) ? type.getFields() : {};
    const members = Object.entries(value).map(([key, member], at) => {
      const name = /^[_A-Za-z]\w*$/.test(key) ? key : `odd${at}`;
      return `${name}: ${literal(member, fields[key] ? getNamedType(fields[key].type) : type)}`;
    });
    return `{${members.join(", ")}}`;
  }
  if (typeof value === "string" && isEnumType(type) && /^\w+$/.test(value)) return value;
  return JSON.stringify(value ?? null);
}

/** Selections that the schema does not have, or that ask for too much. */
function spoilSelections(material: Material, selections: string[]): string[] {
  const [first = "__typename", ...others] = selections;
  return material.oneOf([
    [`${first} nope`, ...others],
    [first.replace(/\{[^{}]*\}/, ""), ...others],
    [`${first} @skip(if: true) @skip(if: false)`],
    [`${first} @include(if: $nope)`],
    [`${first} @nope`],
    [`... on Log { id } ${first}`],
    ["...F", first, "} fragment F on Query { ...F"],
    ["...F } fragment F on Query { ...G ...G } fragment G on Query { ...F __typename"],
    Array.from({ length: 40 }, (_, n) => `a${n}: __typename`),
    Array.from({ length: 200 }, () => first),
    [`logs { ${"trace { logs { ".repeat(10)}id${" } }".repeat(10)} }`],
    [`__schema { types { ${"fields { type { ".repeat(8)}name${" } }".repeat(8)} } }`],
    ['__type(name: "\\ud800") { name fields(includeDeprecated: $x) { name } }'],
    [`${first} } query Named { __typename } query Named { __typename`],
    ["__proto__ constructor toString hasOwnProperty"],
    [`logs(filter: {metadata: [${'{key: "a", value: 1},'.repeat(30)}]}) { id }`],
    [`dataset(slug: "shared") { rows(first: ${"9".repeat(30)}) { nodes { id } } }`],
    [`logPrompt(input: {slug: "shared", output: ${"[".repeat(1_500)}${"]".repeat(1_500)}}) { warning }`],
    [`logPrompt(input: {slug: "shared", output: {a: 1, a: 2, __proto__: 3}}) { warning }`],
    ["{".repeat(3_000)],
  ]);
}

const junk = [
  "\0",
  "{",
  "}",
  "(",
  ")",
  '"',
  '"""',
  "#",
  "$",
  "!",
  "...",
  "@",
  "\ufeff",
  "\ud800",
  "\\u{110000}",
  "&",
  "|",
  "é",
  "1e999",
];

/** A text that is hardly a document any more. */
function spoilText(material: Material, query: string): string {
  const at = material.below(query.length + 1);
  return material.oneOf([
    query.slice(0, at),
    query.slice(0, at) + material.oneOf(junk) + query.slice(at),
    query.slice(0, at) + query.slice(at + 1 + material.below(5)),
    query.replace(/\w+/, material.oneOf(["fragment", "type", "schema", "subscription", "on", ""])),
    query.replaceAll(/[{}]/g, (bracket) => bracket.repeat(2)),
    query.replaceAll(/\d+/g, () => material.oneOf(["1e999", "-0", "9".repeat(40), "0x1"])),
    oddText(material),
    `${query}\n${" ".repeat(20_000)}`,
    `${query}${" a".repeat(6_000)}`,
    "",
  ]);
}
