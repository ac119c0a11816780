import { type Client, CombinedError } from "urql";
import type {
  AddRowsMutation,
  DatasetItemInput,
  DeleteRowMutation,
  UpdateDatasetItemInput,
  UpdateRowMutation,
  WholeRowQuery,
} from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import type { Row } from "./cells.ts";
import { GridRowFields } from "./gridRowFields.ts";

const UpdateRow = graphql(`
  mutation UpdateRow($id: ID!, $input: UpdateDatasetItemInput!) {
    updateDatasetItem(id: $id, input: $input) {
      datasetRow {
        ...GridRow
      }
      warnings {
        code
        message
      }
    }
  }
`);

const AddRows = graphql(`
  mutation AddRows($slug: String!, $items: [DatasetItemInput!]!) {
    addDatasetItems(slug: $slug, input: { items: $items }) {
      datasetRows {
        ...GridRow
      }
      errors {
        index
        message
      }
      warnings {
        message
      }
    }
  }
`);

const DeleteRow = graphql(`
  mutation DeleteRow($id: ID!) {
    deleteDatasetItem(id: $id) {
      deletedDatasetItemId
    }
  }
`);

const WholeRow = graphql(`
  query WholeRow($id: ID!) {
    node(id: $id) {
      __typename
      ... on DatasetRow {
        id
        key
        name
        values
        idealOutput
        metadata
      }
    }
  }
`);

/** What became of a change: the data, or why there is none. */
export type Outcome<Data> =
  | { data: Data; error?: undefined }
  | { data?: undefined; error: CombinedError | undefined };

export async function updateRow(
  client: Client,
  id: string,
  input: UpdateDatasetItemInput,
): Promise<Outcome<Row>> {
  const { data, error } = await client
    .mutation<UpdateRowMutation>(String(UpdateRow), { id, input })
    .toPromise();
  if (!data || error) return { error };
  const { datasetRow, warnings } = data.updateDatasetItem;
  return warnings[0] ? { error: asError(warnings[0]) } : { data: readFragment(GridRowFields, datasetRow) };
}

/** Gabbro leaves out what goes into a column that is gone, and only warns: whoever typed it would lose it. */
const asError = ({ message, code }: { message: string; code: string }) =>
  new CombinedError({ graphQLErrors: [{ message, extensions: { code } }] });

const hasCode = (error: CombinedError | undefined, code: string): boolean =>
  (error?.graphQLErrors ?? []).some(({ extensions }) => extensions.code === code);

export const isColumnGone = (error: CombinedError | undefined) => hasCode(error, "COLUMN_NOT_FOUND");
export const isRowGone = (error: CombinedError | undefined) => hasCode(error, "ROW_NOT_FOUND");

interface Added {
  /** The rows as they were stored, those that were refused as null. */
  rows: (Row | null)[];
  errors: AddRowsMutation["addDatasetItems"]["errors"];
  warning: string | null;
}

const WAITS_MS = [1_000, 3_000, 9_000];

const TEMPORARY = ["TOO_MANY_REQUESTS", "UNAVAILABLE", "TIMED_OUT"];

export const isTemporary = (error: CombinedError | undefined): boolean =>
  error?.networkError !== undefined ||
  (error?.graphQLErrors ?? []).some(({ extensions }) => TEMPORARY.includes(String(extensions.code)));

/** Sends again, after pauses, while Gabbro cannot be reached or has too much to do. */
export async function sendPatiently<Result extends { error?: CombinedError | undefined }>(
  send: () => Promise<Result>,
): Promise<Result> {
  let result = await send();
  for (const waitMs of WAITS_MS) {
    if (!isTemporary(result.error)) break;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    result = await send();
  }
  return result;
}

/** Adds up to 1,000 rows, patiently. All tries with one key store them once. */
export async function addRows(
  client: Client,
  slug: string,
  items: DatasetItemInput[],
  key: string = crypto.randomUUID(),
): Promise<Outcome<Added>> {
  const fetchOptions = { headers: { "idempotency-key": key } };
  const { data, error } = await sendPatiently(() =>
    client.mutation<AddRowsMutation>(String(AddRows), { slug, items }, { fetchOptions }).toPromise(),
  );
  if (!data || error) return { error };
  const { datasetRows, errors, warnings } = data.addDatasetItems;
  const rows = datasetRows.map((row) => readFragment(GridRowFields, row) ?? null);
  return { data: { rows, errors, warning: warnings[0]?.message ?? null } };
}

/** All of a row, to add it again; null where it is gone. */
export async function readWhole(client: Client, id: string): Promise<Outcome<DatasetItemInput | null>> {
  const { data, error } = await client
    .query<WholeRowQuery>(String(WholeRow), { id }, { requestPolicy: "network-only" })
    .toPromise();
  if (!data || error) return { error };
  if (data.node?.__typename !== "DatasetRow") return { data: null };
  const { key, name, values, idealOutput, metadata } = data.node;
  return {
    data: {
      ...{ key: key ?? null, name: name ?? null, values },
      ...{ idealOutput: idealOutput ?? null, metadata: metadata ?? null },
    },
  };
}

/** Deletes a row, if it is not gone: an attempt whose answer was lost may have deleted it. */
export async function deleteRow(client: Client, id: string): Promise<Outcome<null>> {
  const { error } = await client.mutation<DeleteRowMutation>(String(DeleteRow), { id }).toPromise();
  return error && !isRowGone(error) ? { error } : { data: null };
}
