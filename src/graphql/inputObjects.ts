import {
  type ExecutionArgs,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  getOperationAST,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  typeFromAST,
} from "graphql";
import type { Plugin } from "graphql-yoga";
import { badInput, type ErrorDetail, quoted } from "../errors.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { schema } from "../schema.ts";
import { errorResult } from "./errors.ts";
import { nullWhereRequired } from "./nullVariables.ts";
import { tooLongRepeated } from "./repeatedVariables.ts";

/** Ten times what the largest list of an input may have. */
const MAX_INPUT_OBJECTS = 10_000;
/** A wrong object with more characters is refused here. */
const MAX_SHOWN_CHARACTERS = 64 * 1024;
const MAX_NAME_CHARACTERS = 100;

/**
 * Refuses variables with too many input objects. graphql-js converts all of them in one turn of the event loop, each with all
 * fields of its type, before any list is checked for its length: 240,000 conditions of a filter took 0.4 s. Refuses large objects
 * with wrong members, too: graphql-js writes all of an object for each such member, which took 0.6 s for 149,000 of them.
 */
export const useInputObjects: Plugin = {
  onExecute: ({ args, setResultAndStopExecution }) => {
    const { document, operationName, variableValues } = args;
    const detail =
      tooLongRepeated(document, operationName, variableValues) ??
      findWrong(args) ??
      nullWhereRequired(document, operationName, variableValues);
    if (detail) setResultAndStopExecution(errorResult(badInput([detail])));
  },
  onSubscribe: ({ args, setResultAndStopExecution }) => {
    const detail = nullWhereRequired(args.document, args.operationName, args.variableValues);
    if (detail) setResultAndStopExecution(errorResult(badInput([detail])));
  },
};

function findWrong({ document, operationName, variableValues }: ExecutionArgs): ErrorDetail | undefined {
  const { variableDefinitions = [] } = getOperationAST(document, operationName) ?? {};
  let left = MAX_INPUT_OBJECTS;
  const find = (type: GraphQLInputType | undefined, value: unknown): string | undefined => {
    if (!type || typeof value !== "object" || value === null) return undefined;
    if (isNonNullType(type)) return find(type.ofType, value);
    if (isListType(type))
      return Array.isArray(value)
        ? first(value, (item) => find(type.ofType, item))
        : find(type.ofType, value);
    if (!isInputObjectType(type)) return undefined;
    left -= 1;
    const fields = type.getFields();
    return left < 0
      ? TOO_MANY
      : (wrongMember(type, value) ??
          first(Object.entries(value), ([name, member]) => find(fields[name]?.type, member)));
  };
  return first(variableDefinitions, ({ variable: { name }, type }) => {
    const message = find(
      typeFromAST(schema, type) as GraphQLInputType | undefined,
      variableValues?.[name.value],
    );
    return message === undefined ? undefined : { path: message === TOO_MANY ? "" : name.value, message };
  });
}

/** What is found for one of the items. */
function first<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Found | undefined,
): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

const TOO_MANY = `has more than ${MAX_INPUT_OBJECTS.toLocaleString("en")} objects in its lists; send less at once`;

/** What is wrong with the members of a large object. */
function wrongMember(type: GraphQLInputObjectType, value: object): string | undefined {
  const fields = type.getFields();
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
  const missing = Object.values(fields).find(
    (field) => isRequiredInputField(field) && !Object.hasOwn(value, field.name),
  );
  if (unknown === undefined && !missing) return undefined;
  if (jsonSize(value, MAX_SHOWN_CHARACTERS) <= MAX_SHOWN_CHARACTERS) return undefined;
  if (unknown === undefined) return `has a ${type.name} without the field ${missing!.name}`;
  return `has a ${type.name} with the unknown field ${quoted(unknown.slice(0, MAX_NAME_CHARACTERS))}`;
}
