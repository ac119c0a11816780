import { type GraphQLSchema, isEnumType } from "graphql";

/**
 * Has enums suggest nothing in place of a variable: graphql-js compares the whole value with each name, in four arrays of
 * its length, and does so for an error that it drops even where suggestions are hidden.
 */
export function suggestNoEnumValues(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isEnumType(type)) continue;
    const coerce = type.coerceInputValue;
    type.coerceInputValue = (value) => coerce.call(type, value, true);
  }
  return schema;
}
