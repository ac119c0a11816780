import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from "graphql";

type Fragments = GraphQLResolveInfo["fragments"];

/** The names of the fields that are selected of an object. */
export function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo): Set<string> {
  return namesOf(fieldsWithin(fieldNodes, fragments));
}

/** The names of the fields that are selected of the nodes of a connection. */
export function selectedNodeFields({ fieldNodes, fragments }: GraphQLResolveInfo): Set<string> {
  const within = (fields: Iterable<FieldNode>, name: string) =>
    fieldsWithin(
      [...fields].filter((field) => field.name.value === name),
      fragments,
    );
  const fields = fieldsWithin(fieldNodes, fragments);
  return namesOf([...within(fields, "nodes"), ...within(within(fields, "edges"), "node")]);
}

const namesOf = (fields: Iterable<FieldNode>) => new Set(Array.from(fields, ({ name }) => name.value));

/**
 * The fields that are selected of several fields together, including those of fragments. Each fragment counts once, as in
 * graphql-js: 170 equal fields with 170 equal ones in each took 0.7 s and half a gigabyte otherwise.
 */
function fieldsWithin(parents: Iterable<FieldNode>, fragments: Fragments): Set<FieldNode> {
  const fields = new Set<FieldNode>();
  const spread = new Set<string>();
  const add = ({ selections }: SelectionSetNode) => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields.add(selection);
      else if (selection.kind === Kind.INLINE_FRAGMENT) add(selection.selectionSet);
      else if (spread.size < spread.add(selection.name.value).size)
        add(fragments[selection.name.value]!.selectionSet);
    }
  };
  for (const { selectionSet } of parents) if (selectionSet) add(selectionSet);
  return fields;
}
