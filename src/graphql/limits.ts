import {
  type ASTVisitor,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
} from "graphql";

export const MAX_DEPTH = 15;
export const MAX_ALIASES = 30;
export const MAX_TOKENS = 5_000;

interface Size {
  depth: number;
  aliases: number;
}

const NOTHING: Size = { depth: 0, aliases: 0 };
type Measured = Map<string, Size>;

/** A validation rule: refuses operations that nest fields deeper than 15 or use more than 30 aliases, fragments unfolded. */
export function withinLimits(context: ValidationContext): ASTVisitor {
  const measured: Measured = new Map();
  return {
    OperationDefinition(operation) {
      const { depth, aliases } = measure(context, operation.selectionSet, measured);
      if (depth > MAX_DEPTH) {
        context.reportError(
          tooComplex(`nests its fields ${depth} deep; at most ${MAX_DEPTH} are allowed`, operation),
        );
      }
      if (aliases > MAX_ALIASES) {
        context.reportError(
          tooComplex(`has ${aliases} aliases; at most ${MAX_ALIASES} are allowed`, operation),
        );
      }
    },
  };
}

function measure(context: ValidationContext, set: SelectionSetNode | undefined, measured: Measured): Size {
  const total = { ...NOTHING };
  for (const selection of set?.selections ?? []) {
    const isField = selection.kind === Kind.FIELD;
    const within =
      selection.kind === Kind.FRAGMENT_SPREAD
        ? measureFragment(context, selection.name.value, measured)
        : measure(context, selection.selectionSet, measured);
    total.depth = Math.max(total.depth, within.depth + (isField ? 1 : 0));
    total.aliases += within.aliases + (isField && selection.alias ? 1 : 0);
  }
  return total;
}

/** Each fragment is measured once, however often it is spread: nested spreads would else cost exponential time. */
function measureFragment(context: ValidationContext, name: string, measured: Measured): Size {
  const known = measured.get(name);
  if (known) return known;
  measured.set(name, NOTHING); // a cycle ends here; another rule refuses it
  const size = measure(context, context.getFragment(name)?.selectionSet, measured);
  measured.set(name, size);
  return size;
}

function tooComplex(fault: string, operation: OperationDefinitionNode): GraphQLError {
  return new GraphQLError(`The operation ${fault}.`, {
    nodes: operation,
    extensions: { code: "QUERY_TOO_COMPLEX" },
  });
}
