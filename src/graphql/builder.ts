import SchemaBuilder, { type InputFieldMap } from "@pothos/core";
import RelayPlugin from "@pothos/plugin-relay";
import ValidationPlugin from "@pothos/plugin-validation";
import { z } from "zod";
import type { Context } from "../context.ts";
import { badInput } from "../errors.ts";
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
    idFieldOptions: { description: "The id, a UUID." },
    nodeTypeOptions: { description: "What has an id of its own." },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
  validation: { validationError: ({ issues }) => badInput(detailsOf(issues, INPUT)) },
});

builder.addScalarType("DateTime", dateTime);
builder.addScalarType("JSON", json);
builder.addScalarType("JSONObject", jsonObject);
builder.queryType({
  description:
    "Everything that can be read. Each field needs a token with the scope `read`, unless it says otherwise.",
});
builder.mutationType({
  description:
    "Everything that can be changed. Each field needs a token with the scope `write`, unless it says otherwise.",
});

/**
 * Marks fields of Query with the scope `read` whose answers are cached until a unit of work commits. They must depend on
 * nothing else but their arguments: in particular, no log and no row of a dataset may be reached from them.
 */
export const cacheable = { extensions: { cacheable: true } };

/** Marks fields of Query that a DataLoader looks up together, however many an operation has. */
export const batched = { extensions: { batched: true } };

type RootFieldBuilder = Pick<Parameters<Parameters<typeof builder.queryField>[1]>[0], "validate"> & {
  arg: Pick<Parameters<Parameters<typeof builder.queryField>[1]>[0]["arg"], "string" | "int" | "boolean">;
};

/**
 * The arguments of a field by the schema of its input, which also validates and types them: their names, scalar types,
 * descriptions, and whether they are required. `overrides` has the arguments that are no such scalars.
 */
export function argumentsOf<Shape extends z.ZodRawShape>(
  t: RootFieldBuilder,
  schema: z.ZodObject<Shape>,
  overrides: InputFieldMap = {},
) {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const options = {
      required: required.includes(name),
      description: z.globalRegistry.get(field)?.description,
    };
    return [name, overrides[name] ?? t.arg[scalarOf(properties[name] as JsonSchema)](options)];
  });
  return t.validate(Object.fromEntries(fields) as InputFieldMap, schema);
}

interface JsonSchema {
  type?: unknown;
  anyOf?: JsonSchema[];
}

/** The scalar of a property of JSON Schema, which may be one of several alternatives, such as null. */
function scalarOf(property: JsonSchema): "string" | "int" | "boolean" {
  const types = typesOf(property);
  if (types.includes("integer")) return "int";
  return types.includes("boolean") ? "boolean" : "string";
}

const typesOf = ({ type, anyOf = [] }: JsonSchema): unknown[] => [type, ...anyOf.flatMap(typesOf)].flat();
