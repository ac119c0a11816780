import type { FieldMap, ObjectFieldBuilder } from "@pothos/core";
import { type Warning, type WarningCode, warningCodes, warningText } from "../warnings.ts";
import { builder } from "./builder.ts";

const WarningCodeType = builder.enumType("WarningCode", {
  description: "What a warning is about.",
  values: Object.fromEntries(
    Object.entries(warningCodes).map(([code, description]) => [code, { description }]),
  ) as Record<WarningCode, { description: string }>,
});

const WarningType = builder.objectRef<Warning>("Warning").implement({
  description: "What a caller should know of something that was done all the same.",
  fields: (t) => ({
    code: t.expose("code", { type: WarningCodeType, description: "What it is about." }),
    message: t.exposeString("message", { description: "What to know, in a sentence." }),
    path: t.exposeString("path", {
      description: "The part of the input that is meant, as dotted steps; empty for the whole.",
    }),
  }),
});

type SchemaTypes = typeof builder.$inferSchemaTypes;

interface WithWarnings {
  warnings?: Warning[];
}

interface PayloadOptions<Payload> {
  description: string;
  fields: (t: ObjectFieldBuilder<SchemaTypes, Payload>) => FieldMap;
}

/** The type of what a mutation returns: what changed, and warnings. */
export function payloadType<Payload extends object>(
  name: string,
  { description, fields }: PayloadOptions<Payload>,
) {
  return builder.objectRef<Payload>(name).implement({
    description,
    fields: (t) => ({
      ...fields(t),
      warnings: warningsField(t),
    }),
  });
}

/** The payload of a deletion, named after its mutation. */
export function deletionType(name: string, what: string, verb = "Delete") {
  return payloadType<{ id: string }>(`${verb}${name}Payload`, {
    description: `The ${what} that was removed.`,
    fields: (t) => ({
      [`deleted${name}Id`]: t.exposeID("id", { description: `The id of the ${what} that was removed.` }),
    }),
  });
}

/** The field `warning` of the types that the first operations answer with. */
export function warningField<Parent extends { warnings: Warning[] }>(
  t: ObjectFieldBuilder<SchemaTypes, Parent>,
) {
  return t.string({
    nullable: true,
    description: "The sentences of the warnings as one text; null for none.",
    resolve: ({ warnings }) => warningText(warnings),
  });
}

/** The field `warnings` of a type. */
export function warningsField<Parent extends object>(t: ObjectFieldBuilder<SchemaTypes, Parent>) {
  return t.field({
    type: [WarningType],
    description:
      "What the caller should know, such as that values were left out; empty when there is nothing.",
    resolve: (parent: WithWarnings) => parent.warnings ?? [],
  });
}
