import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isIntrospectionType,
  isListType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from "graphql";
import { MAX_ANSWER_FIELDS } from "../limits/answerBudget.ts";
import { defaultsOf } from "./argumentDetails.ts";
import { introspectedFields } from "./introspectedFields.ts";

/**
 * The most entries of a page, unless the field has the extension `maxPageEntries`; a page of no given size counts as such a
 * one, unless the field has the extension `defaultPageEntries`.
 */
const MAX_PAGE_ENTRIES = 100;

/**
 * A field of introspection counts as four: graphql-js executes all of them in one turn of the event loop, and 170,000 kept
 * others waiting for 0.1 to 0.15 s. The introspection query of graphql-js itself has 13,000.
 */
const INTROSPECTION_WEIGHT = 4;

type Variables = Readonly<Record<string, unknown>> | null | undefined;

const fieldCounts = new WeakMap<OperationDefinitionNode, number>();

/**
 * The most fields that the answer to an operation may have. A field counts once for each entry that the pages around it may
 * have. Lists without pages are counted during execution, see lists.ts. `@pothos/plugin-complexity` 4.2 counts the first
 * operation of a document, whichever is executed, and no introspection.
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): number {
  return fieldCounts.get(operation) ?? countFields(schema, document, operation, variables);
}

/** How an operation that is refused before its execution is answered. */
export const REFUSED_REQUEST = { spec: true, status: 400 };

/** The error of an operation whose answer could have more than 200,000 fields; undefined for others. */
export function refusalOfCost(operation: OperationDefinitionNode, cost: number): GraphQLError | undefined {
  if (cost <= MAX_ANSWER_FIELDS) return undefined;
  const message = `The answer could have more than ${MAX_ANSWER_FIELDS} fields. Ask for fewer entries of its lists with the argument "first", or for fewer fields.`;
  return new GraphQLError(message, {
    nodes: operation,
    extensions: { code: "QUERY_TOO_COMPLEX", http: REFUSED_REQUEST },
  });
}

/** Needs a valid document: its fields exist, and its fragments form no cycle. */
function countFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): number {
  const fragments: Fragments = {};
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  // Made once: a copy of 90,000 variables for each of 220 fields took 10 s.
  const values = { ...defaultsOf(operation), ...variables };
  let dependsOnVariables = false;
  // What is left for all fields of introspection together: counting 50,000 for each of 310 took 0.7 s.
  let introspectionLeft = MAX_ANSWER_FIELDS / INTROSPECTION_WEIGHT;

  const valueIn = (node: FieldNode, argument: string): unknown => {
    const value = node.arguments?.find(({ name }) => name.value === argument)?.value;
    if (value?.kind === Kind.VARIABLE) dependsOnVariables = true;
    return value && valueFromASTUntyped(value, values);
  };
  const numberIn = (node: FieldNode, argument: string): number | undefined => {
    const number = valueIn(node, argument);
    return typeof number === "number" ? number : undefined;
  };
  const sizes: Sizes = {
    page: (field, node) => {
      if (!isPaged(field)) return 1;
      const { maxPageEntries: max = MAX_PAGE_ENTRIES, defaultPageEntries: size = max } =
        field.extensions as PageExtensions;
      // What is selected of the entries of an empty page is looked at all the same.
      return Math.min(Math.max(numberIn(node, "first") ?? numberIn(node, "last") ?? size, 1), max);
    },
    list: (page) => page,
    introspection: (field, node) => {
      const args = { name: valueIn(node, "name") };
      const introspection = { schema, fragments, max: introspectionLeft };
      const fields = introspectedFields(introspection, { field, node, args });
      introspectionLeft -= fields;
      return fields * INTROSPECTION_WEIGHT;
    },
  };

  const count = fieldCounter(schema, fragments, sizes);
  const fields = count(schema.getRootType(operation.operation)!, operation.selectionSet);
  if (!dependsOnVariables) fieldCounts.set(operation, fields);
  return fields;
}

interface PageExtensions {
  maxPageEntries?: number;
  defaultPageEntries?: number;
}

function isPaged({ args }: GraphQLField<unknown, unknown>): boolean {
  return args.some(({ name }) => name === "first");
}

type Fragments = { [name: string]: FragmentDefinitionNode };
type Field = GraphQLField<unknown, unknown>;

interface Sizes {
  /** The number of entries of the page that a field with the argument `first` or `last` returns; 1 for other fields. */
  page: (field: Field, node: FieldNode) => number;
  /** The number of entries of a list in a page of that size. */
  list: (page: number) => number;
  /** The number of fields below a field that returns a part of the schema. */
  introspection: (field: Field, node: FieldNode) => number;
}

/** The items of lists in the arguments of a field. */
function itemsIn({ arguments: nodes = [] }: FieldNode): number {
  let items = 0;
  const count = (value: ValueNode): void => {
    if (value.kind === Kind.OBJECT) for (const field of value.fields) count(field.value);
    if (value.kind !== Kind.LIST) return;
    items += value.values.length;
    for (const item of value.values) count(item);
  };
  for (const { value } of nodes) count(value);
  return items;
}

/**
 * Counts the fields of a selection, each times the entries of the lists around it. An item of a list in its arguments counts as
 * a field, as graphql-js converts all of them for each entry: 4,800 items for 2,000 entries took 0.7 s.
 */
export function fieldCounter(schema: GraphQLSchema, fragments: Fragments, sizes: Sizes) {
  const fragmentCounts = new Map<string, number>();

  const ofSet = (type: GraphQLNamedType, { selections }: SelectionSetNode, page = 1): number => {
    let fields = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields += ofField(type, selection, page);
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const name = selection.typeCondition?.name.value;
        fields += ofSet(name ? schema.getType(name)! : type, selection.selectionSet, page);
      } else fields += ofFragment(fragments[selection.name.value]!, page);
    }
    return fields;
  };

  /** Counts each fragment once for each size of pages, however often it is spread. */
  const ofFragment = (
    { name, typeCondition, selectionSet }: FragmentDefinitionNode,
    page: number,
  ): number => {
    const key = `${name.value} ${page}`;
    const fields =
      fragmentCounts.get(key) ?? ofSet(schema.getType(typeCondition.name.value)!, selectionSet, page);
    fragmentCounts.set(key, fields);
    return fields;
  };

  const ofField = (parent: GraphQLNamedType, node: FieldNode, page: number): number => {
    const field = isCompositeType(parent) ? schema.getField(parent, node.name.value) : undefined;
    const own = 1 + itemsIn(node);
    if (!field || !node.selectionSet) return own;
    const type = getNamedType(field.type);
    if (isIntrospectionType(type)) return own + sizes.introspection(field, node);
    const entries = isListType(getNullableType(field.type)) ? sizes.list(page) : 1;
    return own + entries * ofSet(type, node.selectionSet, sizes.page(field, node));
  };

  return (type: GraphQLNamedType, set: SelectionSetNode): number => ofSet(type, set);
}
