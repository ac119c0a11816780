import {
  type ExecutionArgs,
  type GraphQLInputType,
  getOperationAST,
  isInputObjectType,
  isListType,
  isNonNullType,
  typeFromAST,
} from "graphql";
import type { Plugin } from "graphql-yoga";
import { badInput } from "../errors.ts";
import { schema } from "../schema.ts";
import { errorResult } from "./errors.ts";

/** Ten times what the largest list of an input may have. */
const MAX_INPUT_OBJECTS = 10_000;

/**
 * Refuses variables with too many input objects. graphql-js converts all of them in one turn of the event loop, each with all
 * fields of its type, before any list is checked for its length: 240,000 conditions of a filter took 0.4 s.
 */
export const useInputObjects: Plugin = {
  onExecute: ({ args, setResultAndStopExecution }) => {
    if (hasTooMany(args)) setResultAndStopExecution(errorResult(tooMany()));
  },
};

function hasTooMany({ document, operationName, variableValues = {} }: ExecutionArgs): boolean {
  const { variableDefinitions = [] } = getOperationAST(document, operationName) ?? {};
  let left = MAX_INPUT_OBJECTS;
  const count = (type: GraphQLInputType | undefined, value: unknown): void => {
    if (!type || left < 0 || typeof value !== "object" || value === null) return;
    if (isNonNullType(type)) count(type.ofType, value);
    else if (isListType(type) && Array.isArray(value)) {
      for (const item of value) if (left >= 0) count(type.ofType, item);
    } else if (isListType(type)) count(type.ofType, value);
    else if (isInputObjectType(type)) {
      left -= 1;
      const fields = type.getFields();
      for (const [name, member] of Object.entries(value)) count(fields[name]?.type, member);
    }
  };
  for (const { variable, type } of variableDefinitions)
    count(typeFromAST(schema, type) as GraphQLInputType | undefined, variableValues?.[variable.name.value]);
  return left < 0;
}

function tooMany() {
  const message = `has more than ${MAX_INPUT_OBJECTS.toLocaleString("en")} objects in its lists; send less at once`;
  return badInput([{ path: "", message }]);
}
