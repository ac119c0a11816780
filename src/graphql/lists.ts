import {
  defaultFieldResolver,
  type FieldNode,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from "graphql";
import type { Context } from "../context.ts";
import { isInTurn, MAX_FIELDS_AT_ONCE, nextTurn } from "../database/pace.ts";
import { holdAnswerFields, MAX_ANSWER_FIELDS, spendAnswerFields } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { fieldCounter } from "./cost.ts";

/**
 * Makes every list of a schema subtract the fields of its entries from the budget of the answer before they are executed.
 * In an answer with very many fields other requests run in between.
 */
export function countLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      if (!isListType(getNullableType(field.type))) continue;
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (parent, args, context: Context, info) => {
        const result = resolve(parent, args, context, info);
        const count = (list: Entries) => countEntries(context, info, list);
        return result instanceof Promise ? result.then(count) : count(result as Entries);
      };
    }
  }
  return schema;
}

type Entries = unknown[] | null | undefined;

function countEntries(context: Context, info: GraphQLResolveInfo, list: Entries) {
  if (!list || list.length === 0) return list;
  const fields = list.length * fieldsOfEntry(info);
  spendAnswerFields(context, fields);
  // What a mutation returns is stored already: a refusal would have its caller store it again.
  const turn =
    info.operation.operation === "mutation" ? turnIfLong(context) : holdAnswerFields(context, fields);
  return turn ? turn.then(() => inPace(context, info, list)) : inPace(context, info, list);
}

/** The turn of a long answer to a mutation; undefined for a short one. */
function turnIfLong(context: Context): Promise<void> | undefined {
  const { leftFields, beAlone } = context.answerBudget;
  if (!beAlone || MAX_ANSWER_FIELDS - leftFields <= MAX_FIELDS_AT_ONCE) return undefined;
  return beAlone().then(() => checkDeadline(context));
}

function inPace(context: Context, info: GraphQLResolveInfo, list: unknown[]) {
  const fields = list.length * fieldsOfEntry(info);
  if (isInTurn(context, fields)) return list;
  const size = Math.max(1, Math.floor(MAX_FIELDS_AT_ONCE / 4 / fieldsOfEntry(info)));
  // An iterator for each of 44,000 short lists takes three times the memory of a promise.
  if (list.length <= size) return nextTurn(context, fields).then(() => list);
  return inTurns(context, list, size, fieldsOfEntry(info));
}

const fieldCounts = new WeakMap<FieldNode, number>();

/** The number of fields of an entry of a list; lists within it count their own entries later. */
function fieldsOfEntry({ schema, fragments, fieldNodes, returnType }: GraphQLResolveInfo): number {
  let fields = 0;
  for (const node of fieldNodes) {
    let own = fieldCounts.get(node);
    if (own === undefined) {
      const count = fieldCounter(schema, fragments, { page: () => 1, list: () => 0, introspection: () => 0 });
      own = node.selectionSet ? count(getNamedType(returnType), node.selectionSet) : 1;
      fieldCounts.set(node, own);
    }
    fields += own;
  }
  return Math.max(1, fields);
}

async function* inTurns(
  context: Context,
  list: unknown[],
  size: number,
  fieldsEach: number,
): AsyncGenerator<unknown> {
  for (let from = 0; from < list.length; from += size) {
    const entries = list.slice(from, from + size);
    await nextTurn(context, entries.length * fieldsEach);
    yield* entries;
  }
}
