import { z } from "zod";
import { jsonObject, jsonObjectOrNothing, text, textOrNothing } from "../inputs.ts";

export const datasetInput = z.object({ slug: text().describe("The slug of the dataset.") });

/** The most rows that one answer of GraphQL carries. */
export const MOST_ROWS_AT_ONCE = 10_000;

export const rowsInput = z.object({
  first: z
    .int()
    .min(0)
    .max(MOST_ROWS_AT_ONCE)
    .nullish()
    .describe(`How many rows at most, up to ${MOST_ROWS_AT_ONCE.toLocaleString("en")}.`),
  after: z
    .guid({ error: "must be the id of a row" })
    .toLowerCase()
    .nullish()
    .describe("Rows after the one with this id."),
});
export type RowsInput = z.output<typeof rowsInput>;

export const datasetRowInput = z
  .object({
    name: textOrNothing().describe("A name for the row. The empty string counts as absent."),
    values: jsonObject().describe(
      "The value of each column, by the column's name. Values of columns that the dataset does not have are left out, and the warning names those columns.",
    ),
    idealOutput: text()
      .nullish()
      .transform((value) => value ?? null)
      .describe("The output that a model should give for this row."),
    metadata: jsonObjectOrNothing().describe("Anything else worth keeping with the row."),
  })
  .meta({
    id: "DatasetItem",
    description: "A row to add to a dataset.",
    // Not "examples": zod leaves those out of the schema of an input that it transforms.
    example: {
      name: "Kenya",
      values: { question: "Which country has Nairobi as its capital?", facts: { population: 54_000_000 } },
      idealOutput: "Kenya",
      metadata: { reviewedBy: "amina" },
    },
  });

export const addDatasetItemInput = z.object({
  slug: datasetInput.shape.slug,
  input: datasetRowInput,
});
export type AddDatasetItemInput = z.output<typeof addDatasetItemInput>;
