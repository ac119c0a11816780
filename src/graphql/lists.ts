import { setImmediate } from "node:timers/promises";
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
import { type AnswerBudget, spendAnswerFields } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { fieldCounter } from "./cost.ts";

/** graphql-js takes about a microsecond for a field, in which nobody else is served. */
const MAX_FIELDS_AT_ONCE = 10_000;

/**
 * Has every list of a schema take as many fields off the budget of the answer as its entries have, before they are
 * executed; where an answer has very many, others are served in between.
 */
export function countLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields())) {
      if (!isListType(getNullableType(field.type))) continue;
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (parent, args, context: Context, info) => {
        const found = resolve(parent, args, context, info);
        const count = (list: Entries) => countEntries(context, info, list);
        return found instanceof Promise ? found.then(count) : count(found as Entries);
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
  const { turn } = paceOf(context);
  if (turn.left >= fields) {
    turn.left -= fields;
    return list;
  }
  return inTurns(context, list, fieldsOfEntry(info));
}

const counted = new WeakMap<FieldNode, number>();

/** How many fields an entry of a list has; the entries of lists within are counted when those are there. */
function fieldsOfEntry({ schema, fragments, fieldNodes, returnType }: GraphQLResolveInfo): number {
  let fields = 0;
  for (const node of fieldNodes) {
    let own = counted.get(node);
    if (own === undefined) {
      const count = fieldCounter(schema, fragments, ({ type }) =>
        isListType(getNullableType(type)) ? 0 : 1,
      );
      own = node.selectionSet ? count(getNamedType(returnType), node.selectionSet) : 1;
      counted.set(node, own);
    }
    fields += own;
  }
  return Math.max(1, fields);
}

interface Pace {
  /** What is left of the turn of the event loop. */
  turn: { left: number };
  /** The lists of one answer go on one after another. */
  last: Promise<void>;
}

const paces = new WeakMap<AnswerBudget, Pace>();

function paceOf({ answerBudget }: Context): Pace {
  const pace = paces.get(answerBudget) ?? { turn: { left: MAX_FIELDS_AT_ONCE }, last: Promise.resolve() };
  paces.set(answerBudget, pace);
  return pace;
}

async function* inTurns(context: Context, list: unknown[], fieldsEach: number): AsyncGenerator<unknown> {
  const pace = paceOf(context);
  const size = Math.max(1, Math.floor(MAX_FIELDS_AT_ONCE / 4 / fieldsEach));
  for (let from = 0; from < list.length; from += size) {
    const entries = list.slice(from, from + size);
    pace.last = pace.last.then(() => takeTurn(pace, entries.length * fieldsEach));
    await pace.last;
    checkDeadline(context);
    yield* entries;
  }
}

async function takeTurn({ turn }: Pace, fields: number): Promise<void> {
  if (turn.left < fields) {
    await setImmediate();
    turn.left = MAX_FIELDS_AT_ONCE;
  }
  turn.left -= fields;
}
