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
import { authenticated } from "../workspaces/resolvers.ts";
import { fieldCounter } from "./cost.ts";

/** graphql-js blocks other requests for about a microsecond per field. */
const MAX_FIELDS_AT_ONCE = 10_000;

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
  const { turn } = paceOf(context);
  if (turn.left >= fields) {
    turn.left -= fields;
    return list;
  }
  return inTurns(context, list, fieldsOfEntry(info));
}

const fieldCounts = new WeakMap<FieldNode, number>();

/** The number of fields of an entry of a list; lists within it count their own entries later. */
function fieldsOfEntry({ schema, fragments, fieldNodes, returnType }: GraphQLResolveInfo): number {
  let fields = 0;
  for (const node of fieldNodes) {
    let own = fieldCounts.get(node);
    if (own === undefined) {
      const count = fieldCounter(schema, fragments, { page: () => 1, list: () => 0 });
      own = node.selectionSet ? count(getNamedType(returnType), node.selectionSet) : 1;
      fieldCounts.set(node, own);
    }
    fields += own;
  }
  return Math.max(1, fields);
}

interface Pace {
  /** The fields that are left of this turn of the event loop. */
  turn: { left: number };
  /** Resolves when the lists before have taken their turns. */
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
    pace.last = pace.last.then(() => takeTurn(context, entries.length * fieldsEach));
    await pace.last;
    checkDeadline(context);
    yield* entries;
  }
}

async function takeTurn(context: Context, fields: number): Promise<void> {
  const { turn } = paceOf(context);
  if (turn.left < fields) {
    await context.database.turn(authenticated(context).workspaceId);
    turn.left = MAX_FIELDS_AT_ONCE;
  }
  turn.left -= fields;
}
