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
  valueFromASTUntyped,
} from "graphql";
import { MAX_ANSWER_FIELDS } from "../limits/answerBudget.ts";
import { defaultsOf } from "./argumentDetails.ts";

/** How many entries a list of the schema itself has: types, fields and arguments, on average. */
const ENTRIES_IN_SCHEMA = 10;
/** How many entries a page has at most, unless its field says otherwise in its extension `longestPage`. */
const LONGEST_PAGE = 100;

type Variables = Readonly<Record<string, unknown>> | null | undefined;

const known = new WeakMap<OperationDefinitionNode, number>();

/**
 * Why an operation is not executed: its answer could have more than 200,000 fields, counting each as often as the pages
 * that it stands in may have entries. Undefined when it is executed: lists without pages are counted then, see lists.ts.
 */
export function refusalOfCost(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): GraphQLError | undefined {
  const fields = known.get(operation) ?? countFields(schema, document, operation, variables);
  if (fields <= MAX_ANSWER_FIELDS) return undefined;
  const message = `The answer could have more than ${MAX_ANSWER_FIELDS} fields. Ask for fewer entries of its lists with the argument "first", or for fewer fields.`;
  return new GraphQLError(message, {
    nodes: operation,
    extensions: { code: "QUERY_TOO_COMPLEX", http: { spec: true, status: 400 } },
  });
}

/** The document is valid: its fields are there, and its fragments go in no circle. */
function countFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Variables,
): number {
  const fragments: Fragments = {};
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  const defaults = defaultsOf(operation);
  let hangsOnVariables = false;

  const entriesOf: EntriesOf = (field, node) => {
    if (!isListType(getNullableType(field.type))) return 1;
    if (isIntrospectionType(getNamedType(field.type))) return ENTRIES_IN_SCHEMA;
    if (!isPaged(field)) return 1;
    const longest = (field.extensions.longestPage as number | undefined) ?? LONGEST_PAGE;
    const value = node.arguments?.find(({ name }) => name.value === "first")?.value;
    if (value?.kind === Kind.VARIABLE) hangsOnVariables = true;
    const first = value && valueFromASTUntyped(value, { ...defaults, ...given });
    return typeof first === "number" ? Math.min(Math.max(first, 0), longest) : longest;
  };

  const count = fieldCounter(schema, fragments, entriesOf);
  const fields = count(schema.getRootType(operation.operation)!, operation.selectionSet);
  if (!hangsOnVariables) known.set(operation, fields);
  return fields;
}

function isPaged({ args }: GraphQLField<unknown, unknown>): boolean {
  return args.some(({ name }) => name === "first");
}

type Fragments = { [name: string]: FragmentDefinitionNode };
/** How many objects stand in a field. */
type EntriesOf = (field: GraphQLField<unknown, unknown>, node: FieldNode) => number;

/** Counts the fields of a selection, each as often as `entriesOf` says of the fields that it stands in. */
export function fieldCounter(schema: GraphQLSchema, fragments: Fragments, entriesOf: EntriesOf) {
  const counted = new Map<string, number>();

  const ofSet = (type: GraphQLNamedType, { selections }: SelectionSetNode): number => {
    let fields = 0;
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields += ofField(type, selection);
      else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const name = selection.typeCondition?.name.value;
        fields += ofSet(name ? schema.getType(name)! : type, selection.selectionSet);
      } else fields += ofFragment(fragments[selection.name.value]!);
    }
    return fields;
  };

  /** Counted once, however often it is spread. */
  const ofFragment = ({ name, typeCondition, selectionSet }: FragmentDefinitionNode): number => {
    const fields = counted.get(name.value) ?? ofSet(schema.getType(typeCondition.name.value)!, selectionSet);
    counted.set(name.value, fields);
    return fields;
  };

  const ofField = (parent: GraphQLNamedType, node: FieldNode): number => {
    const field = isCompositeType(parent) ? schema.getField(parent, node.name.value) : undefined;
    if (!field || !node.selectionSet) return 1;
    return 1 + entriesOf(field, node) * ofSet(getNamedType(field.type), node.selectionSet);
  };

  return ofSet;
}
