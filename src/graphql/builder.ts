import SchemaBuilder from "@pothos/core";
import ValidationPlugin from "@pothos/plugin-validation";
import type { Context } from "../context.ts";
import { badInput } from "../errors.ts";
import { faultsOf } from "../inputs.ts";
import { INPUT } from "./faults.ts";
import { dateTime, json, jsonObject } from "./scalars.ts";

/** Where every feature's graphql.ts adds its types and fields. */
export const builder = new SchemaBuilder<{
  Context: Context;
  DefaultFieldNullability: false;
  Scalars: {
    DateTime: { Input: string | number; Output: Date };
    JSON: { Input: unknown; Output: unknown };
    JSONObject: { Input: unknown; Output: Record<string, unknown> };
    ID: { Input: string; Output: string };
  };
}>({
  plugins: [ValidationPlugin],
  defaultFieldNullability: false,
  validation: { validationError: ({ issues }) => badInput(faultsOf(issues, INPUT)) },
});

builder.addScalarType("DateTime", dateTime);
builder.addScalarType("JSON", json);
builder.addScalarType("JSONObject", jsonObject);
builder.queryType({
  description: "Everything that can be read. Each field needs a token with the scope `read`.",
});
builder.mutationType({
  description: "Everything that can be changed. Each field needs a token with the scope `write`.",
});
