import { z } from "zod";
import { countMembers } from "../limits/jsonSize.ts";
import { jsonObject, nullableJsonObject, optionalJsonObject } from "../validation/json.ts";
import { list } from "../validation/list.ts";
import { idPage, searchText, slugPage } from "../validation/pagination.ts";
import { idOf, lookUpName, lookUpSlug, lookUpText, newSlug, optionalText, text } from "../validation/text.ts";

export const datasetSlugInput = z.object({ slug: lookUpSlug().describe("The slug of the dataset.") });

/** The largest version that the databases store. */
const MAX_VERSION = 2_147_483_647;
const version = () => z.int().min(1).max(MAX_VERSION).nullish();
const tagToLookUp = () => optionalText(lookUpText());

/** What picks a version of a dataset: a number wins over a tag; with neither it is the newest. */
export const datasetInput = datasetSlugInput.extend({
  version: version().describe("The version, to read the dataset as it was. It wins over `tag`."),
  tag: tagToLookUp().describe(
    "A tag, to read the dataset as it was in the version with that tag, such as `latest`. The empty string counts as absent.",
  ),
});
export type DatasetInput = z.input<typeof datasetInput>;

/** The version or the tag; GraphQL refuses anything but one of them, as the type is `@oneOf`. */
export const datasetVersionSelector = datasetInput
  .omit({ slug: true })
  .refine(({ version, tag }) => Boolean(version || tag), {
    path: ["version"],
    error: "is required, or else tag",
  })
  .describe("A version of a dataset, by its number or by a tag.");

const changesPage = idPage();
export const datasetDiffInput = z.object({
  slug: datasetSlugInput.shape.slug,
  from: datasetVersionSelector.describe("The version to begin with."),
  to: datasetVersionSelector.describe("The version to end with."),
  first: changesPage.first,
  after: changesPage.after,
});

/** The same in the query of a URL, where a number is a text. */
export const datasetChoice = z.object({
  version: z
    .union([
      z.literal(""),
      z.stringFormat("version", /^[1-9][0-9]{0,8}$/, { error: "must be a whole number from 1" }),
    ])
    .nullish()
    .transform((value) => (value ? Number(value) : null))
    .describe(
      "The version, to read the dataset as it was. It wins over `tag`. The empty string counts as absent.",
    ),
  tag: datasetInput.shape.tag,
});

/** The most rows of a dataset in one answer of GraphQL. */
export const MAX_ROWS_AT_ONCE = 10_000;

const { first, after } = idPage({ max: MAX_ROWS_AT_ONCE });
export const rowsInput = z.object({
  first: first.describe(`How many rows at most, up to ${MAX_ROWS_AT_ONCE.toLocaleString("en")}.`),
  after,
  offset: z
    .int()
    .min(0)
    .nullish()
    .describe(
      "How many rows to skip, from the beginning or from `after`: 100,000 rows take about 10 ms. To read all rows page by page, `after` alone is faster.",
    ),
});

const MAX_KEY_CHARACTERS = 512;
/** Bounded, as databases limit the length of an index entry. */
const key = () =>
  optionalText().refine((value) => (value?.length ?? 0) <= MAX_KEY_CHARACTERS, {
    error: `must have at most ${MAX_KEY_CHARACTERS} characters`,
  });

/** Reading, changing and storing a row with 98,000 takes 0.1 to 0.4 s, which all writers of SQLite wait for. */
export const MAX_ROW_MEMBERS = 50_000;

/** How many members the objects of a row have; stops counting beyond `max`. */
export const membersOfRow = (
  { values, metadata }: { values: unknown; metadata: unknown },
  max: number,
): number => countMembers([values, metadata], max);

export const datasetRowInput = z
  .object({
    name: optionalText().describe("A name for the row. The empty string counts as absent."),
    values: jsonObject().describe(
      "The value of each column, by the column's name. Values of columns that the dataset does not have are left out, and the warning names those columns.",
    ),
    idealOutput: text()
      .nullish()
      .transform((value) => value ?? null)
      .describe("The output that a model should give for this row."),
    metadata: optionalJsonObject().describe("Anything else worth keeping with the row."),
    key: key().describe(
      "Your own id of the row. The same key again in the same dataset changes that row instead of adding another.",
    ),
  })
  .refine((row) => membersOfRow(row, MAX_ROW_MEMBERS) <= MAX_ROW_MEMBERS, {
    path: ["values"],
    error: `must have at most ${MAX_ROW_MEMBERS.toLocaleString("en")} members of objects at all depths, with those of metadata`,
  })
  .meta({
    id: "DatasetItem",
    description: "A row to add to a dataset, with at most 50,000 members of objects.",
    // Not "examples": zod leaves those out of the schema of an input that it transforms.
    example: {
      name: "Kenya",
      values: { question: "Which country has Nairobi as its capital?", facts: { population: 54_000_000 } },
      idealOutput: "Kenya",
      metadata: { reviewedBy: "amina" },
    },
  });

export type DatasetRowInput = z.output<typeof datasetRowInput>;

export const addDatasetItemInput = z.object({
  slug: datasetSlugInput.shape.slug,
  input: datasetRowInput,
});
export type AddDatasetItemInput = z.output<typeof addDatasetItemInput>;

/** Limits the columns of a dataset, and likewise its removed ones. */
export const MAX_COLUMNS = 1_000;
const MAX_NAME_CHARACTERS = 256;
const name = () => text(MAX_NAME_CHARACTERS).min(1);
const columnName = () =>
  name().refine((value) => value !== "__proto__", { error: 'must not be "__proto__"' });

export const columnInput = z
  .object({
    name: columnName().describe("The name, unique in the dataset."),
    type: z.enum(["text", "image", "file", "json"]).describe("What its values are."),
  })
  .describe("A column for a dataset.");

export const createDatasetInput = z
  .object({
    slug: newSlug().describe(
      "The slug of the new dataset: lower-case letters and digits, with single - or _ between.",
    ),
    name: name().nullish().describe("The name to show; else it is the slug."),
    columns: list(columnInput, MAX_COLUMNS).describe("Its columns in order, up to 1,000 and 256 kB of JSON."),
  })
  .describe("A dataset to make.");
export type CreateDatasetInput = z.output<typeof createDatasetInput>;
export const createDatasetArguments = z.object({ input: createDatasetInput });

export const columnRename = z
  .object({
    from: lookUpName().describe("The name of the column."),
    to: columnName().describe("Its new name."),
  })
  .describe("A new name for a column.");

const datasetChanges = z.object({
  name: name().nullish().describe("The new name; left as it is when absent."),
  removeColumns: list(lookUpName(), MAX_COLUMNS)
    .nullish()
    .describe("Columns to remove. Rows keep their values, which come back with a column of the same name."),
  renameColumns: list(columnRename, MAX_COLUMNS)
    .nullish()
    .describe("Columns to rename; their values go along."),
  addColumns: list(columnInput, MAX_COLUMNS)
    .nullish()
    .describe("Columns to add at the end; a dataset has up to 1,000, and 256 kB of JSON."),
});
export const updateDatasetInput = z.object({
  slug: datasetSlugInput.shape.slug,
  input: datasetChanges.describe("What to change of a dataset; what is absent stays as it is."),
});
export type UpdateDatasetInput = z.output<typeof updateDatasetInput>;

const MAX_ITEMS = 1_000;

export const addDatasetItemsInput = z.object({
  slug: datasetSlugInput.shape.slug,
  input: z
    .object({
      // Each row is validated on its own, so that an invalid one does not reject the others.
      items: list(z.unknown(), MAX_ITEMS).describe(
        "The rows, up to 1,000. Each is validated on its own, so that an invalid one does not reject the others; only what the types of the schema do not allow, such as a number as a name, rejects all.",
      ),
    })
    .describe("Rows to add to a dataset."),
});
export type AddDatasetItemsInput = z.output<typeof addDatasetItemsInput>;

const rowId = idOf("a row of the newest version: a UUID, without @ and a version");

const datasetItemChanges = z.object({
  name: text().nullish().describe("The new name; left as it is when absent, removed by null."),
  values: nullableJsonObject().describe(
    "The values to change, by the names of their columns; others stay as they are.",
  ),
  idealOutput: text().nullish().describe("The new ideal output; left as it is when absent, removed by null."),
  metadata: nullableJsonObject().describe("The new metadata; left as it is when absent, removed by null."),
});
export const updateDatasetItemInput = z.object({
  id: rowId.describe("The id of the row, as the newest version has it."),
  input: datasetItemChanges.describe("What to change of a row; what is absent stays as it is."),
});
export type UpdateDatasetItemInput = z.output<typeof updateDatasetItemInput>;

export const datasetItemInput = z.object({
  id: rowId.describe("The id of the row, as the newest version has it."),
});

export const datasetsInput = z.object({
  search: searchText().describe(
    "Only those with this in their slug or name, in any case; up to 200 characters.",
  ),
  ...slugPage(),
});
export type DatasetsInput = z.output<typeof datasetsInput>;

const MAX_TAG_CHARACTERS = 128;
const tag = text(MAX_TAG_CHARACTERS).min(1).describe("The tag, such as `release-gate`.");

export const tagDatasetInput = z.object({
  slug: datasetSlugInput.shape.slug,
  input: z
    .object({ tag, to: datasetVersionSelector.describe("The version that the tag is to name.") })
    .describe("A tag for a version of a dataset."),
});
export type TagDatasetInput = z.output<typeof tagDatasetInput>;

export const removeDatasetTagInput = z.object({
  slug: datasetSlugInput.shape.slug,
  input: z.object({ tag }).describe("A tag of a dataset."),
});
export type RemoveDatasetTagInput = z.output<typeof removeDatasetTagInput>;

export const setDatasetTagProtectionInput = z.object({
  slug: datasetSlugInput.shape.slug,
  input: z
    .object({
      tag,
      protected: z.boolean().describe("Whether moving the tag needs a token with the scope `publish`."),
    })
    .describe("A tag to protect, or no longer to protect."),
});
export type SetDatasetTagProtectionInput = z.output<typeof setDatasetTagProtectionInput>;
