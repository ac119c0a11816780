import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import { schema } from "../../src/schema.ts";
import type { Request } from "./requests.ts";
import { graphql } from "./storing.ts";

/** Fields that only hold others, and those that say again what `nodes` says. */
const LEFT_OUT = new Set(["edges", "pageInfo"]);
/** Pages within pages have fewer entries, as both are counted together. */
const NESTED_ENTRIES = 100;

/**
 * A request for each field that a field of Query leads to, by its path: its own fields, and those of the objects within
 * them. Pages are as large as their descriptions allow.
 */
export function requestsForEachField(field: string, given = ""): Record<string, Request> {
  const root = schema.getQueryType()!.getFields()[field]!;
  const paths = fieldsFrom(root, { given, levels: 3, maxEntries: Number.POSITIVE_INFINITY });
  return Object.fromEntries(paths.map(({ path, query }) => [path, graphql(`{ ${query} }`)]));
}

interface Way {
  given: string;
  /** How many levels of objects it goes down. */
  levels: number;
  maxEntries: number;
}

function fieldsFrom(
  field: GraphQLField<unknown, unknown>,
  { given, levels, maxEntries }: Way,
): { path: string; query: string }[] {
  const size = pageSize(field);
  const page = size ? `first: ${Math.min(size, maxEntries)}` : "";
  const asked = [given, page].filter(Boolean).join(", ");
  const called = asked ? `${field.name}(${asked})` : field.name;
  const type = getNamedType(field.type);
  if (isLeafType(type)) return [{ path: field.name, query: called }];
  if (!isObjectType(type) || levels === 0) return [];
  const within = { given: "", levels: isConnection(type) ? levels : levels - 1, maxEntries };
  return Object.values(type.getFields())
    .filter((member) => !LEFT_OUT.has(member.name) && !member.args.some(isRequiredArgument))
    .flatMap((member) => fieldsFrom(member, size ? { ...within, maxEntries: NESTED_ENTRIES } : within))
    .map(({ path, query }) => ({ path: `${field.name}.${path}`, query: `${called} { ${query} }` }));
}

const isConnection = (type: GraphQLObjectType) => type.name.endsWith("Connection");

/** The most entries that a page may have, as the description of its argument says. */
function pageSize({ name, args }: GraphQLField<unknown, unknown>): number | null {
  const first = args.find((arg) => arg.name === "first");
  if (!first) return null;
  const most = /up to ([\d,]+)/.exec(first.description ?? "")?.[1];
  if (!most)
    throw new Error(`The description of ${name}(first:) does not say how many there may be at most.`);
  return Number(most.replaceAll(",", ""));
}
