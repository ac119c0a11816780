import { type GraphQLSchema, isEnumType } from "graphql";

/**
 * Turns suggestions of enums for variables off. graphql-js compares the whole value with each name, in four arrays of its
 * length, even for errors that it drops and where suggestions are hidden.
 */
export function suggestNoEnumValues(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isEnumType(type)) continue;
    const coerce = type.coerceInputValue;
    type.coerceInputValue = (value) => coerce.call(type, value, true);
  }
  return schema;
}
