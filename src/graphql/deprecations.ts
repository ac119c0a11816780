import {
  type DocumentNode,
  getNamedType,
  isInputObjectType,
  type ObjectFieldNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { schema } from "../schema.ts";

const used = new WeakMap<DocumentNode, readonly string[]>();

/**
 * What a valid document uses of what is deprecated, as schema coordinates such as `AuditEntry.at`, each once: fields,
 * arguments, members of inputs and enum values. Values of variables are not looked at.
 */
export function deprecatedIn(document: DocumentNode): readonly string[] {
  const names = used.get(document) ?? findDeprecated(document);
  used.set(document, names);
  return names;
}

function findDeprecated(document: DocumentNode): readonly string[] {
  const types = new TypeInfo(schema);
  const names = new Set<string>();
  const add = (name: string, { deprecationReason }: { deprecationReason?: string | null | undefined }) => {
    if (deprecationReason) names.add(name);
  };
  const fieldName = () => `${types.getParentType()?.name}.${types.getFieldDef()?.name}`;
  const member = ({ name }: ObjectFieldNode) => {
    const type = getNamedType(types.getParentInputType());
    if (isInputObjectType(type)) add(`${type.name}.${name.value}`, type.getFields()[name.value] ?? {});
  };
  visit(
    document,
    visitWithTypeInfo(types, {
      Field: () => add(fieldName(), types.getFieldDef() ?? {}),
      Argument: ({ name }) => add(`${fieldName()}(${name.value}:)`, types.getArgument() ?? {}),
      ObjectField: member,
      EnumValue: ({ value }) =>
        add(`${getNamedType(types.getInputType())?.name}.${value}`, types.getEnumValue() ?? {}),
    }),
  );
  return [...names];
}
