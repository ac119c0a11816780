import {
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
} from "graphql";
import type { OpenAPIV3_1 } from "openapi-types";
import { v7 as uuidv7 } from "uuid";
import { schema } from "../src/schema.ts";

export type Path = (string | number)[];

/** A place in an input. */
export interface Field {
  path: Path;
  /** Whether it holds members, so that others can be added. */
  isObject: boolean;
  /** Whether it takes any text. */
  isText: boolean;
  /** What must be there for the field to be read, by the path of what holds it. */
  holders: { path: Path; value: unknown; takesOne?: boolean; type?: GraphQLInputType }[];
}

type Holders = Field["holders"];

/** Every field of the variables of an operation, at any depth, as the schema has them. */
export function fieldsOfGraphql(query: string): Field[] {
  const [operation] = parse(query).definitions as OperationDefinitionNode[];
  return (operation!.variableDefinitions ?? []).flatMap(({ variable, type }) =>
    fieldsOf(typeFromAST(schema, type as never) as GraphQLInputType, [variable.name.value], []),
  );
}

function fieldsOf(type: GraphQLInputType, path: Path, holders: Holders): Field[] {
  if (isNonNullType(type)) return fieldsOf(type.ofType, path, holders);
  const here = { path, isObject: isInputObjectType(type), isText: String(type) === "String", holders };
  const takesOne = isInputObjectType(type) && type.isOneOf;
  const within = [...holders, { path, value: minimal(type), takesOne, type }];
  if (isListType(type)) return [here, ...fieldsOf(type.ofType, [...path, 0], within)];
  // Conditions hold conditions: one level deep each field of theirs is met.
  if (!isInputObjectType(type) || holders.some((holder) => holder.type === type)) return [here];
  const members = Object.values(type.getFields());
  return [here, ...members.flatMap((field) => fieldsOf(field.type, [...path, field.name], within))];
}

const scalars: Record<string, () => unknown> = {
  ID: uuidv7,
  Int: () => 1,
  Float: () => 1,
  Boolean: () => true,
  DateTime: () => "2026-01-01T00:00:00Z",
  JSONObject: () => ({}),
};

/** The least that a type takes. */
function minimal(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return minimal(type.ofType);
  if (isListType(type)) return [minimal(type.ofType)];
  if (isEnumType(type)) return type.getValues()[0]!.name;
  if (!isInputObjectType(type)) return (scalars[type.name] ?? (() => "x"))();
  const needed = Object.values(type.getFields()).filter((field) => isNonNullType(field.type));
  return Object.fromEntries(needed.map((field) => [field.name, minimal(field.type)]));
}

type JsonSchema = OpenAPIV3_1.SchemaObject;

/** Every field of the body of a route, at any depth, as the OpenAPI document has them; it leaves OpenTelemetry out. */
export function fieldsOfBody(document: OpenAPIV3_1.Document, route: string, method: string): Field[] {
  const operation = document.paths![route]?.[method as "post"];
  const { content } = (operation?.requestBody ?? {}) as OpenAPIV3_1.RequestBodyObject;
  return content ? membersOf(document, content["application/json"]!.schema as JsonSchema, [], []) : [];
}

function membersOf(document: OpenAPIV3_1.Document, given: JsonSchema, path: Path, holders: Holders): Field[] {
  const { $ref } = given as { $ref?: string };
  const named = $ref && document.components!.schemas![$ref.split("/").at(-1)!];
  const { type, properties, items, anyOf } = (named || given) as JsonSchema & { items?: JsonSchema };
  const variants = (anyOf ?? []) as JsonSchema[];
  const here = { path, isObject: Boolean(properties), isText: type === "string", holders };
  const within = (value: unknown) => [...holders, { path, value }];
  return [
    here,
    ...Object.entries(properties ?? {}).flatMap(([name, property]) =>
      membersOf(document, property as JsonSchema, [...path, name], within({})),
    ),
    ...(items ? membersOf(document, items, [...path, 0], within([])) : []),
    ...variants.flatMap((variant) => membersOf(document, variant, path, holders).slice(1)),
  ];
}

/** The names of the parameters of a route that stand in its path or its query. */
export function parametersOf(document: OpenAPIV3_1.Document, route: string, method: string) {
  const { parameters = [] } = document.paths![route]?.[method as "get"] ?? {};
  return (parameters as OpenAPIV3_1.ParameterObject[]).filter(({ in: place }) => place !== "header");
}

/** A copy of an input with a value in that field, and with what must hold it. */
export function withValue(input: unknown, { path, holders }: Field, value: unknown): unknown {
  let copy: unknown = structuredClone(input);
  for (const holder of holders)
    if (holder.takesOne || valueAt(copy, holder.path) == null)
      copy = put(copy, holder.path, structuredClone(holder.value));
  return put(copy, path, value);
}

export function valueAt(input: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string, unknown> | null)?.[step], input);
}

function put(input: unknown, path: Path, value: unknown): unknown {
  if (path.length === 0) return value;
  const holder = valueAt(input, path.slice(0, -1)) as Record<string, unknown>;
  holder[path.at(-1)!] = value;
  return input;
}
