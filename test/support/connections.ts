import { type GraphQLField, type GraphQLObjectType, type GraphQLSchema, isObjectType } from "graphql";
import { schema } from "../../src/schema.ts";

export interface ConnectionField {
  type: GraphQLObjectType;
  field: GraphQLField<unknown, unknown>;
}

/** Every field of a schema that returns a connection, by its coordinate such as `Query.datasets`. */
export function connectionsOf(ofSchema: GraphQLSchema): Map<string, ConnectionField> {
  const fields = Object.values(ofSchema.getTypeMap())
    .filter((type) => isObjectType(type))
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })))
    .filter(({ field }) => /Connection!?$/.test(String(field.type)));
  return new Map(fields.map((one) => [`${one.type.name}.${one.field.name}`, one]));
}

export const connections = connectionsOf(schema);
