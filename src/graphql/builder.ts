import SchemaBuilder, { type InputFieldMap, type InputRef } from "@pothos/core";
import RelayPlugin from "@pothos/plugin-relay";
import ValidationPlugin from "@pothos/plugin-validation";
import { z } from "zod";
import type { Context } from "../context.ts";
import { badInput } from "../errors.ts";
import { spendAnswerError } from "../limits/answerBudget.ts";
import { detailsOf } from "../validation/messages.ts";
import { INPUT } from "./argumentDetails.ts";
import { dateTime, json, jsonObject } from "./scalars.ts";

/** Where every feature's graphql.ts adds its types and fields. */
export const builder = new SchemaBuilder<{
  Context: Context;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
  Scalars: {
    DateTime: { Input: string | number; Output: Date };
    JSON: { Input: unknown; Output: unknown };
    JSONObject: { Input: unknown; Output: Record<string, unknown> };
    ID: { Input: string; Output: string };
  };
}>({
  plugins: [RelayPlugin, ValidationPlugin],
  defaultFieldNullability: false,
  relay: {
    nodesOnConnection: { description: "The entries, without their cursors." },
    edgesFieldOptions: { description: "The entries with their cursors.", nullable: false },
    nodeFieldOptions: { description: "The entry.", nullable: false },
    cursorFieldOptions: { description: "Where the entry is in the list, for `after` and `before`." },
    pageInfoFieldOptions: { description: "What comes before and after the page." },
    pageInfoTypeOptions: { description: "What comes before and after a page of a list." },
    hasNextPageFieldOptions: { description: "Whether entries follow the page." },
    hasPreviousPageFieldOptions: {
      description: "Whether entries precede the page, as far as it was asked for.",
    },
    startCursorFieldOptions: { description: "The cursor of the first entry; null when there is none." },
    endCursorFieldOptions: { description: "The cursor of the last entry; null when there is none." },
    idFieldOptions: {
      description:
        "The id: a UUID, as REST has it. What was asked for in a version of its dataset has the UUID, @ and the version, so that caches keep versions apart.",
    },
    nodeTypeOptions: { description: "What has an id of its own." },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
  validation: {
    validationError: ({ issues }, _, context) => {
      spendAnswerError(context);
      return badInput(detailsOf(issues, INPUT));
    },
  },
});

const GENERAL_ERRORS =
  "The description of a field names the error codes of its own. Beside them, each field may give `UNAUTHENTICATED`, `BAD_INPUT`, `FORBIDDEN`, `QUERY_TOO_COMPLEX`, `TOO_MANY_REQUESTS`, `UNAVAILABLE`, `TIMED_OUT` and `INTERNAL`, and a field of a log, a trace, a dataset or a version of a prompt that has just been removed `LOG_NOT_FOUND`, `TRACE_NOT_FOUND`, `DATASET_NOT_FOUND` or `VERSION_NOT_FOUND`.";

builder.addScalarType("DateTime", dateTime);
builder.addScalarType("JSON", json);
builder.addScalarType("JSONObject", jsonObject);
builder.queryType({
  description: `Everything that can be read. Each field needs a token with the scope \`read\`, unless it says otherwise. ${GENERAL_ERRORS}`,
});
builder.mutationType({
  description: `Everything that can be changed. Each field needs a token with the scope \`write\`, unless it says otherwise. ${GENERAL_ERRORS} A request whose \`Idempotency-Key\` belongs to another request gives \`CONFLICT\`.`,
});
builder.subscriptionType({
  description: `Everything that can be subscribed to, by server-sent events: send the operation with \`Accept: text/event-stream\`. ${GENERAL_ERRORS}`,
});

/**
 * Marks fields of Query with the scope `read` whose answers are cached until a unit of work commits. They must depend on
 * nothing else but their arguments: in particular, no log and no row of a dataset may be reached from them.
 */
export const cacheable = { extensions: { cacheable: true } };

/** Marks fields of Query that a DataLoader looks up together, however many an operation has. */
export const batched = { extensions: { batched: true } };

type RootFieldBuilder = Parameters<Parameters<typeof builder.queryField>[1]>[0];

/**
 * The type of an argument or of a member of an input type: a type, the name of a scalar, or a list of one of them. A
 * name that ends with ! or ? says whether the value is required, where the schema does not.
 */
export type InputTypes = Record<string, InputTypeOf | readonly [InputTypeOf]>;
type InputTypeOf = InputRef | `${Scalar}${"" | "!" | "?"}`;
type Scalar = "String" | "DateTime" | "Float" | "ID" | "JSON" | "JSONObject";

/**
 * The arguments of a field by the schema of its input, which also validates and types them: their names, scalar types,
 * descriptions, and whether they are required. `types` has the types that are no such scalars.
 */
export function argumentsOf<Shape extends z.ZodRawShape>(
  t: Pick<RootFieldBuilder, "validate" | "arg">,
  schema: z.ZodObject<Shape>,
  types: InputTypes = {},
) {
  const fields = optionsOf(schema, types).map(([name, options]) => [name, t.arg(options)]);
  return t.validate(Object.fromEntries(fields) as InputFieldMap, schema);
}

/** An input type by the schema of an input, like `argumentsOf`, with its description. `types` may refer to the type itself. */
export function inputTypeOf<Shape extends z.ZodRawShape>(
  name: string,
  schema: z.ZodObject<Shape>,
  types: InputTypes | ((self: InputRef) => InputTypes) = {},
) {
  const type = builder.inputRef<z.input<z.ZodObject<Shape>>>(name);
  return type.implement({
    description: schema.description,
    fields: (t) => {
      const known = typeof types === "function" ? types(type) : types;
      const fields = optionsOf(schema, known).map(([name, options]) => [name, t.field(options)]);
      // Their names are known at run time only; the type of the input says what they are.
      return Object.fromEntries(fields) as never;
    },
  });
}

function optionsOf<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>, types: InputTypes) {
  const plain = z.object(schema.shape); // one with an id would become a reference
  const { properties = {}, required = [] } = z.toJSONSchema(plain, { io: "input", unrepresentable: "any" });
  return Object.entries(schema.shape).map(([name, field]) => {
    const given = types[name] ?? scalarOf(properties[name] as JsonSchema);
    const [, type = given, mark] = (typeof given === "string" && /^(\w+)([!?])$/.exec(given)) || [];
    const { description } = field as z.ZodType;
    const isRequired = mark ? mark === "!" : required.includes(name);
    return [name, { type: type as "String", required: isRequired, description }] as const;
  });
}

interface JsonSchema {
  type?: unknown;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
}

/** The scalar of a property of JSON Schema, which may be one of several alternatives, such as null. */
function scalarOf(property: JsonSchema): string | [string] {
  const types = typesOf(property);
  if (types.includes("array")) return ["String"];
  if (types.includes("integer")) return "Int";
  if (types.includes("number")) return "Float";
  return types.includes("boolean") ? "Boolean" : "String";
}

const typesOf = ({ type, anyOf = [] }: JsonSchema): unknown[] => [type, ...anyOf.flatMap(typesOf)].flat();
