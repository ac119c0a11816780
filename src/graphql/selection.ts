import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from "graphql";

/** The names of the fields that are selected within a field. */
export function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo): Set<string> {
  const names = new Set<string>();
  const spread = new Set<string>();
  const add = (set: SelectionSetNode | undefined) => {
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) names.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) add(selection.selectionSet);
      else if (spread.size < spread.add(selection.name.value).size)
        add(fragments[selection.name.value]!.selectionSet);
    }
  };
  for (const node of fieldNodes) add(node.selectionSet);
  return names;
}
