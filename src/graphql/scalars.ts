import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped, visit } from "graphql";
import { INEXACT, isInexact } from "../validation/numbers.ts";

// Scalars do not validate input: the zod schemas of the inputs do, in the same words at both APIs.

export const dateTime = new GraphQLScalarType<unknown, string>({
  name: "DateTime",
  description:
    "A point in time to the millisecond. It comes out as ISO 8601 in UTC, such as `2026-01-31T09:30:00.000Z`. It is given as ISO 8601 (UTC when it names no zone) or as epoch milliseconds.",
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc3339",
  serialize: (value) => (value as Date).toISOString(),
});

export const json = new GraphQLScalarType({
  name: "JSON",
  description:
    "Any JSON value, up to 100 levels deep. It comes back as it was given, but with `-0` as `0`, and fractions and exponents as the nearest 64-bit number.",
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc8259",
  parseValue: (value) => value,
  parseLiteral,
});

export const jsonObject = new GraphQLScalarType({
  name: "JSONObject",
  description:
    "A JSON object with anything in it, up to 100 levels deep. It comes back as it was given, but with `-0` as `0`, and fractions and exponents as the nearest 64-bit number.",
  specifiedByURL: "https://www.rfc-editor.org/rfc/rfc8259",
  parseValue: (value) => value,
  parseLiteral,
});

function parseLiteral(literal: ValueNode, variables?: Record<string, unknown> | null): unknown {
  const refuseInexact = ({ value }: { value: string }) => {
    if (isInexact(value))
      throw new GraphQLError(`A value ${INEXACT}.`, { extensions: { code: "BAD_INPUT" } });
  };
  visit(literal, { [Kind.INT]: refuseInexact, [Kind.FLOAT]: refuseInexact });
  return valueFromASTUntyped(literal, variables);
}
