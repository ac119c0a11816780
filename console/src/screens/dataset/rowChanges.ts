import type { Client, CombinedError } from "urql";
import type {
  AddRowsMutation,
  DatasetItemInput,
  DeleteRowMutation,
  UpdateDatasetItemInput,
  UpdateRowMutation,
  WholeRowQuery,
} from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import { GridRowFields, type Row } from "./cells.ts";

const UpdateRow = graphql(`
  mutation UpdateRow($id: ID!, $input: UpdateDatasetItemInput!) {
    updateDatasetItem(id: $id, input: $input) {
      datasetRow {
        ...GridRow
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
  return data && !error
    ? { data: readFragment(GridRowFields, data.updateDatasetItem.datasetRow) }
    : { error };
}

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

/**
 * Adds up to 1,000 rows; when Gabbro cannot be reached or has too much to do it tries again. All tries with one key store
 * them once.
 */
export async function addRows(
  client: Client,
  slug: string,
  items: DatasetItemInput[],
  key: string = crypto.randomUUID(),
): Promise<Outcome<Added>> {
  const fetchOptions = { headers: { "idempotency-key": key } };
  const add = () =>
    client.mutation<AddRowsMutation>(String(AddRows), { slug, items }, { fetchOptions }).toPromise();
  let result = await add();
  for (const waitMs of WAITS_MS) {
    if (!isTemporary(result.error)) break;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    result = await add();
  }
  const { data, error } = result;
  if (!data || error) return { error };
  const { datasetRows, errors, warnings } = data.addDatasetItems;
  const rows = datasetRows.map((row) => readFragment(GridRowFields, row) ?? null);
  return { data: { rows, errors, warning: warnings[0]?.message ?? null } };
}

/** Deletes a row, and returns all of it, to add it again. */
export async function deleteRow(client: Client, id: string): Promise<Outcome<DatasetItemInput>> {
  const read = await client
    .query<WholeRowQuery>(String(WholeRow), { id }, { requestPolicy: "network-only" })
    .toPromise();
  if (read.error) return { error: read.error };
  const { data, error } = await client.mutation<DeleteRowMutation>(String(DeleteRow), { id }).toPromise();
  if (!data || error) return { error };
  const node = read.data?.node;
  if (node?.__typename !== "DatasetRow") return { error: undefined };
  const { key, name, values, idealOutput, metadata } = node;
  return {
    data: {
      ...{ key: key ?? null, name: name ?? null, values },
      ...{ idealOutput: idealOutput ?? null, metadata: metadata ?? null },
    },
  };
}
