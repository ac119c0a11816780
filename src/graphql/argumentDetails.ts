import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from "graphql";
import type { z } from "zod";
import type { ErrorDetail } from "../errors.ts";
import { detailsOf } from "../validation/messages.ts";

type Variables = Record<string, unknown>;

/**
 * The errors of an operation's arguments in the words of REST. GraphQL refuses a wrong type before our schemas see it,
 * in its own words and with the whole value in them; this asks our schemas about the same arguments.
 * Empty when they find nothing wrong.
 */
export function argumentDetails(
  schema: GraphQLSchema,
  document: DocumentNode,
  {
    operationName,
    variables,
  }: { operationName?: string | null | undefined; variables?: Variables | null | undefined },
): ErrorDetail[] {
  const operation = getOperationAST(document, operationName);
  const given = { ...(operation && defaultsOf(operation)), ...variables };
  const types = new TypeInfo(schema);
  const details: ErrorDetail[] = [];
  const judge = ({ arguments: asked = [] }: FieldNode) => {
    const field = types.getFieldDef();
    const inputSchema = field && argumentsSchema(field);
    const input = Object.fromEntries(
      asked.map(({ name, value }) => [name.value, valueFromASTUntyped(value, given)]),
    );
    const parsed = inputSchema?.safeParse(input);
    if (parsed?.error) details.push(...detailsOf(parsed.error.issues, INPUT));
  };
  const asked = separateOperations(document)[operation?.name?.value ?? ""];
  if (asked) visit(asked, visitWithTypeInfo(types, { Field: { enter: judge } }));
  return details;
}

/** The argument of mutations that is the body in REST: the paths of errors begin in it. */
export const INPUT = "input";

/** What the variables of an operation are when they are not given. */
export function defaultsOf(operation: OperationDefinitionNode): Variables {
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
  );
  return Object.fromEntries(defaults);
}

/** The schema given to `t.validate`, where the validation plugin keeps it: with one of the arguments. */
function argumentsSchema({ args }: GraphQLField<unknown, unknown>): z.ZodType | undefined {
  return args.flatMap(
    ({ extensions }) => (extensions as Extensions)["@pothos/plugin-validation"]?.parentSchemas ?? [],
  )[0];
}

interface Extensions {
  "@pothos/plugin-validation"?: { parentSchemas?: z.ZodType[] };
}
