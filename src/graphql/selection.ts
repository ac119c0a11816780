import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from "graphql";

/** The names of the fields that are selected of an object. */
export function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo): Set<string> {
  const fields = fieldNodes.flatMap(({ selectionSet }) => fieldsOf(selectionSet, fragments));
  return new Set(fields.map(({ name }) => name.value));
}

/** The names of the fields that are selected of the nodes of a connection. */
export function selectedNodeFields({ fieldNodes, fragments }: GraphQLResolveInfo): Set<string> {
  const within = (fields: FieldNode[], ...names: string[]) =>
    fields
      .filter(({ name }) => names.includes(name.value))
      .flatMap(({ selectionSet }) => fieldsOf(selectionSet, fragments));
  const fields = fieldNodes.flatMap(({ selectionSet }) => fieldsOf(selectionSet, fragments));
  const nodes = [...within(fields, "nodes"), ...within(within(fields, "edges"), "node")];
  return new Set(nodes.map(({ name }) => name.value));
}

/** The fields of a selection, including those of its fragments. */
function fieldsOf(
  set: SelectionSetNode | undefined,
  fragments: GraphQLResolveInfo["fragments"],
): FieldNode[] {
  const fields: FieldNode[] = [];
  const spread = new Set<string>();
  const add = (selections: SelectionSetNode["selections"] = []) => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields.push(selection);
      else if (selection.kind === Kind.INLINE_FRAGMENT) add(selection.selectionSet.selections);
      else if (spread.size < spread.add(selection.name.value).size)
        add(fragments[selection.name.value]!.selectionSet.selections);
    }
  };
  add(set?.selections);
  return fields;
}
