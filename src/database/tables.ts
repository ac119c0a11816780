import {
  type EntityMetadata,
  type EntityProperty,
  JsonType,
  type MetadataStorage,
  ReferenceKind,
} from "@mikro-orm/core";

/**
 * A value in the form that all databases share: a time is epoch milliseconds, a Boolean value is 0 or 1, and JSON is its
 * stored text.
 */
export type Value = string | number | null;

export interface Column {
  /** The property of the entity. */
  field: string;
  name: string;
  kind: "text" | "json" | "number" | "boolean" | "timestamp";
  /** The name of its type in the database. */
  type: string;
}

/** The table of an entity. The order of its columns is the same for every database. */
export interface Table {
  entity: string;
  name: string;
  columns: Column[];
  /** The columns of the primary key. */
  key: Column[];
}

/** Properties that a database derives from other columns. */
const DERIVED = new Set(["Log.searchId"]);

/** The tables of all entities, parents before their children. */
export function tablesOf(metadata: MetadataStorage): Table[] {
  const remaining = new Map<string, EntityMetadata>();
  for (const meta of metadata) if (!meta.abstract && !meta.embeddable) remaining.set(meta.name!, meta);
  const tables: Table[] = [];
  while (remaining.size > 0) {
    const ready = [...remaining].filter(([entity, meta]) =>
      parentsOf(meta).every((parent) => parent === entity || !remaining.has(parent)),
    );
    if (ready.length === 0)
      throw new Error(`The tables of ${[...remaining.keys()]} reference each other in a cycle.`);
    for (const [entity, meta] of ready) {
      remaining.delete(entity);
      tables.push(tableOf(entity, meta));
    }
  }
  return tables;
}

function parentsOf({ props }: EntityMetadata): string[] {
  return props.flatMap(({ targetMeta, createForeignKeyConstraint }) =>
    targetMeta?.name && createForeignKeyConstraint ? [targetMeta.name] : [],
  );
}

function tableOf(entity: string, meta: EntityMetadata): Table {
  const columns = (meta.props as EntityProperty[])
    .filter((property) => property.persist !== false && isStored(property))
    .filter(({ name }) => !DERIVED.has(`${entity}.${name}`))
    .map((property) => toColumn(entity, property))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const key = columns.filter(({ field }) => (meta.primaryKeys as string[]).includes(field));
  return { entity, name: meta.tableName, columns, key };
}

const isStored = ({ kind }: EntityProperty) =>
  kind !== ReferenceKind.ONE_TO_MANY && kind !== ReferenceKind.MANY_TO_MANY;

const kinds: Record<string, Column["kind"]> = {
  string: "text",
  number: "number",
  boolean: "boolean",
  Date: "timestamp",
};

function toColumn(entity: string, property: EntityProperty): Column {
  const { name, kind, runtimeType, customType, fieldNames, columnTypes } = property;
  const isReference = kind !== ReferenceKind.SCALAR;
  const columnKind = customType instanceof JsonType ? "json" : isReference ? "text" : kinds[runtimeType];
  if (!columnKind || fieldNames.length !== 1)
    throw new Error(`The type of ${entity}.${name} cannot be copied between databases yet.`);
  return { field: name, name: fieldNames[0]!, kind: columnKind, type: columnTypes[0]! };
}
