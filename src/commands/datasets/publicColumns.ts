import type { Column } from "../../datasets/entities.ts";

/** The columns of a dataset as REST has them, without the keys under which values are stored. */
export function publicColumns({ columns }: { columns: Column[] }): Pick<Column, "name" | "type">[] {
  return columns.map(({ name, type }) => ({ name, type }));
}
