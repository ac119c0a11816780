import { type DatasetRowInput, datasetRowInput } from "../../datasets/inputs.ts";
import { refuseLargeRow } from "../../datasets/resolvers.ts";
import { type ErrorDetail, GabbroError } from "../../errors.ts";
import type { FileRow } from "../../formats/rows.ts";
import { detailsOf } from "../../validation/messages.ts";

/** Validates a row of a file by the rules of the service; `key` names the column with the row's key. */
export function validateRow(
  { item, details }: Pick<FileRow, "item" | "details">,
  key: string | undefined,
): { input: DatasetRowInput } | { details: ErrorDetail[] } {
  if (!item) return { details };
  const { data, error } = datasetRowInput.safeParse(item);
  if (error) return { details: detailsOf(error.issues, "values") };
  if (key === undefined) return bounded(data);
  const value = Object.hasOwn(data.values, key) ? data.values[key] : fieldOf(data, key);
  if ((typeof value === "string" && value !== "") || typeof value === "number" || typeof value === "boolean")
    return validateRow({ item: { ...item, key: String(value) }, details }, undefined);
  const isNothing = value === undefined || value === null || value === "";
  const message = isNothing
    ? "is empty, but --key needs it"
    : "must be a text or a number, as --key names it";
  return { details: [{ path: key, message }] };
}

/** A row of a file comes in no body that bounds it: one of 48 MB had other workspaces wait for 0.7 s whenever it was read. */
function bounded(input: DatasetRowInput): ReturnType<typeof validateRow> {
  try {
    refuseLargeRow(input);
    return { input };
  } catch (error) {
    if (!(error instanceof GabbroError)) throw error;
    return { details: [{ path: "", message: error.message }] };
  }
}

function fieldOf({ name, key, idealOutput }: DatasetRowInput, field: string): string | null | undefined {
  return new Map([
    ["name", name],
    ["key", key],
    ["idealOutput", idealOutput],
  ]).get(field);
}
