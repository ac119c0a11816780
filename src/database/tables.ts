import {
  type EntityMetadata,
  type EntityProperty,
  type MetadataStorage,
  ReferenceKind,
} from "@mikro-orm/core";

/**
 * A value in the form that all databases share: a time is epoch milliseconds, a truth value 0 or 1, and JSON the text that
 * it is kept as.
 */
export type Value = string | number | null;

export interface Column {
  /** The property of the entity. */
  field: string;
  name: string;
  kind: "text" | "json" | "number" | "boolean" | "timestamp";
  /** What the database calls its type. */
  type: string;
}

/** The table of an entity. Its columns stand in the same order for every database. */
export interface Table {
  entity: string;
  name: string;
  columns: Column[];
  /** The columns that tell its rows apart. */
  key: Column[];
}

/** What a database finds out by itself from the rest. */
const DERIVED = new Set(["Log.searchId"]);

/** The tables of all entities, parents before their children. */
export function tablesOf(metadata: MetadataStorage): Table[] {
  const waiting = new Map<string, EntityMetadata>();
  for (const meta of metadata) if (!meta.abstract && !meta.embeddable) waiting.set(meta.name!, meta);
  const tables: Table[] = [];
  while (waiting.size > 0) {
    const ready = [...waiting].filter(([entity, meta]) =>
      parentsOf(meta).every((parent) => parent === entity || !waiting.has(parent)),
    );
    if (ready.length === 0) throw new Error(`The tables of ${[...waiting.keys()]} are each other's parents.`);
    for (const [entity, meta] of ready) {
      waiting.delete(entity);
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
  const found =
    customType?.constructor.name === "JsonType" ? "json" : isReference ? "text" : kinds[runtimeType];
  if (!found || fieldNames.length !== 1)
    throw new Error(`Nobody has said yet how ${entity}.${name} is copied from one database to another.`);
  return { field: name, name: fieldNames[0]!, kind: found, type: columnTypes[0]! };
}
