import {
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
} from "graphql";
import { schema } from "../../src/schema.ts";

const ROOTS = { query: "Query", mutation: "Mutation", subscription: "Subscription" } as const;
type Root = (typeof ROOTS)[keyof typeof ROOTS];

/** The error codes of its own that the description of a field of Query, Mutation or Subscription names. */
export function codesOf(root: Root, name: string): string[] {
  return codesIn((schema.getType(root) as GraphQLObjectType).getFields()[name]!.description);
}

const codesIn = (description: string | null | undefined): string[] =>
  [...(description ?? "").matchAll(/`((?:\w+_NOT_FOUND)|CONFLICT)`/g)].map(([, code]) => code!);

interface Failure {
  path?: (string | number)[];
  extensions?: { code?: string };
}

/** Throws when a field gave an error of its own that its description does not name: callers read which to expect there. */
export function checkErrorsAreNamed(query: unknown, errors: Failure[]): void {
  for (const { path, extensions: { code = "" } = {} } of errors) {
    if (!path?.length || !/_NOT_FOUND$|^CONFLICT$/.test(code)) continue;
    const field = fieldAt(String(query), String(path[0]));
    if (!field) continue;
    const { root, name } = field;
    const where = path.length === 1 ? name : `the fields below ${root}`;
    const named = path.length === 1 ? codesOf(root, name) : codesIn(schema.getType(root)?.description);
    if (!named.includes(code))
      throw new GraphQLError(`The description of ${where} does not name its error ${code}.`);
  }
}

function fieldAt(query: string, key: string): { root: Root; name: string } | undefined {
  for (const definition of parse(query).definitions) {
    const { operation, selectionSet } = definition as OperationDefinitionNode;
    const field = selectionSet.selections.find(
      (one): one is FieldNode => one.kind === Kind.FIELD && (one.alias ?? one.name).value === key,
    );
    if (field) return { root: ROOTS[operation], name: field.name.value };
  }
  return undefined;
}
