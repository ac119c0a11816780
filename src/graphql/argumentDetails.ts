import {
  BREAK,
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
import { jsonSize } from "../limits/jsonSize.ts";
import { detailsOf } from "../validation/messages.ts";

type Variables = Record<string, unknown>;

/** The field that exceeds this is the last one to be validated: 300 that name the same 40,000 members took 1.6 s. */
const MAX_VALIDATED_CHARACTERS = 1_000_000;

/**
 * The errors of an operation's arguments in the words of REST; empty when none is found. GraphQL itself refuses a wrong
 * type with a message of its own that repeats the whole value, so this validates the arguments with our schemas.
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
  const values = { ...(operation && defaultsOf(operation)), ...variables };
  const types = new TypeInfo(schema);
  const details: ErrorDetail[] = [];
  let left = MAX_VALIDATED_CHARACTERS;
  const validate = ({ arguments: nodes = [] }: FieldNode) => {
    if (left < 0) return BREAK;
    const field = types.getFieldDef();
    const inputSchema = field && argumentsSchema(field);
    const input = Object.fromEntries(
      nodes.map(({ name, value }) => [name.value, valueFromASTUntyped(value, values)]),
    );
    left -= jsonSize(input, left);
    const parsed = inputSchema?.safeParse(input);
    if (parsed?.error) details.push(...detailsOf(parsed.error.issues, INPUT));
  };
  const selected = separateOperations(document)[operation?.name?.value ?? ""];
  if (selected) visit(selected, visitWithTypeInfo(types, { Field: { enter: validate } }));
  return details;
}

/** The argument of mutations that is the body in REST: paths of errors leave it out. */
export const INPUT = "input";

/** The default values of the variables of an operation. */
export function defaultsOf(operation: OperationDefinitionNode): Variables {
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
  );
  return Object.fromEntries(defaults);
}

/** The schema that `t.validate` got: the validation plugin stores it with one of the arguments. */
function argumentsSchema({ args }: GraphQLField<unknown, unknown>): z.ZodType | undefined {
  return args.flatMap(
    ({ extensions }) => (extensions as Extensions)["@pothos/plugin-validation"]?.parentSchemas ?? [],
  )[0];
}

interface Extensions {
  "@pothos/plugin-validation"?: { parentSchemas?: z.ZodType[] };
}
