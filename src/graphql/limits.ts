import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
} from "graphql";

export const MAX_DEPTH = 15;
export const MAX_ALIASES = 30;
/** Validation compares fields of the same name pair by pair: this many pairs take a few milliseconds. */
export const MAX_EQUAL_FIELD_PAIRS = 50_000;
export const MAX_FRAGMENTS = 100;
/** Bounded, as answers and errors repeat names. */
export const MAX_NAME_CHARACTERS = 128;

interface Size {
  depth: number;
  aliases: number;
}

const NOTHING: Size = { depth: 0, aliases: 0 };
type FragmentSizes = Map<string, Size>;

/**
 * A validation rule: refuses operations that nest fields deeper than 15 or use more than 30 aliases, including those of
 * their fragments, and documents that are slow to validate.
 */
export function withinLimits(context: ValidationContext): ASTVisitor {
  const sizes: FragmentSizes = new Map();
  const fields = new Map<string, number>();
  let fragments = 0;
  const refuse = (reason: string, node?: OperationDefinitionNode) =>
    context.reportError(tooComplex(reason, node));
  return {
    Field: (field) => countField(fields, field),
    Name({ value }) {
      if (value.length > MAX_NAME_CHARACTERS)
        refuse(`has a name of ${value.length} characters; at most ${MAX_NAME_CHARACTERS} are allowed`);
    },
    FragmentDefinition: () => {
      fragments += 1;
    },
    OperationDefinition(operation) {
      const { depth, aliases } = measure(context, operation.selectionSet, sizes);
      if (depth > MAX_DEPTH)
        refuse(`nests its fields ${depth} deep; at most ${MAX_DEPTH} are allowed`, operation);
      if (aliases > MAX_ALIASES)
        refuse(`has ${aliases} aliases; at most ${MAX_ALIASES} are allowed`, operation);
    },
    Document: {
      leave: () => {
        if (fragments > MAX_FRAGMENTS)
          refuse(`has ${fragments} fragments; at most ${MAX_FRAGMENTS} are allowed`);
        const pairs = [...fields.values()].reduce((sum, count) => sum + (count * (count - 1)) / 2, 0);
        if (pairs > MAX_EQUAL_FIELD_PAIRS) refuse("repeats the same fields too often");
      },
    },
  };
}

function countField(fields: Map<string, number>, { name, alias }: FieldNode): void {
  const { value } = alias ?? name;
  fields.set(value, (fields.get(value) ?? 0) + 1);
}

function measure(context: ValidationContext, set: SelectionSetNode | undefined, sizes: FragmentSizes): Size {
  const total = { ...NOTHING };
  for (const selection of set?.selections ?? []) {
    const isField = selection.kind === Kind.FIELD;
    const within =
      selection.kind === Kind.FRAGMENT_SPREAD
        ? measureFragment(context, selection.name.value, sizes)
        : measure(context, selection.selectionSet, sizes);
    total.depth = Math.max(total.depth, within.depth + (isField ? 1 : 0));
    total.aliases += within.aliases + (isField && selection.alias ? 1 : 0);
  }
  return total;
}

/** Measures each fragment once, however often it is spread: otherwise nested spreads take exponential time. */
function measureFragment(context: ValidationContext, name: string, sizes: FragmentSizes): Size {
  const cached = sizes.get(name);
  if (cached) return cached;
  sizes.set(name, NOTHING); // a cycle ends here; another rule refuses it
  const size = measure(context, context.getFragment(name)?.selectionSet, sizes);
  sizes.set(name, size);
  return size;
}

function tooComplex(reason: string, operation?: OperationDefinitionNode): GraphQLError {
  return new GraphQLError(`The operation ${reason}.`, {
    nodes: operation,
    extensions: { code: "QUERY_TOO_COMPLEX" },
  });
}
