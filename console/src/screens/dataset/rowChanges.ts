import type { Client, CombinedError } from "urql";
import type {
  AddRowsMutation,
  DatasetItemInput,
  DeleteRowMutation,
  RowMetadataQuery,
  UpdateDatasetItemInput,
  UpdateRowMutation,
} from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import type { Row } from "./cells.ts";

const UpdateRow = graphql(`
  mutation UpdateRow($id: ID!, $input: UpdateDatasetItemInput!) {
    updateDatasetItem(id: $id, input: $input) {
      datasetRow {
        id
        key
        name
        values
        idealOutput
      }
    }
  }
`);

const AddRows = graphql(`
  mutation AddRows($slug: String!, $items: [DatasetItemInput!]!) {
    addDatasetItems(slug: $slug, input: { items: $items }) {
      datasetRows {
        id
        key
        name
        values
        idealOutput
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

const RowMetadata = graphql(`
  query RowMetadata($id: ID!) {
    node(id: $id) {
      __typename
      ... on DatasetRow {
        id
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
  return data && !error ? { data: data.updateDatasetItem.datasetRow } : { error };
}

type Added = AddRowsMutation["addDatasetItems"];

const WAITS_MS = [1_000, 3_000, 9_000];

const TEMPORARY = ["TOO_MANY_REQUESTS", "UNAVAILABLE", "TIMED_OUT"];

export const isTemporary = (error: CombinedError | undefined): boolean =>
  error?.networkError !== undefined ||
  (error?.graphQLErrors ?? []).some(({ extensions }) => TEMPORARY.includes(String(extensions.code)));

/** Adds up to 1,000 rows; when Gabbro cannot be reached or has too much to do it tries again, which stores them once. */
export async function addRows(
  client: Client,
  slug: string,
  items: DatasetItemInput[],
): Promise<Outcome<Added>> {
  const fetchOptions = { headers: { "idempotency-key": crypto.randomUUID() } };
  const add = () =>
    client.mutation<AddRowsMutation>(String(AddRows), { slug, items }, { fetchOptions }).toPromise();
  let result = await add();
  for (const waitMs of WAITS_MS) {
    if (!isTemporary(result.error)) break;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    result = await add();
  }
  const { data, error } = result;
  return data && !error ? { data: data.addDatasetItems } : { error };
}

/** Deletes a row, and returns all of it, to add it again. */
export async function deleteRow(client: Client, row: Row): Promise<Outcome<DatasetItemInput>> {
  const { id, key, name, values, idealOutput } = row;
  const read = await client
    .query<RowMetadataQuery>(String(RowMetadata), { id }, { requestPolicy: "network-only" })
    .toPromise();
  if (read.error) return { error: read.error };
  const { data, error } = await client.mutation<DeleteRowMutation>(String(DeleteRow), { id }).toPromise();
  if (!data || error) return { error };
  const node = read.data?.node;
  const metadata = node?.__typename === "DatasetRow" ? (node.metadata ?? null) : null;
  return {
    data: { key: key ?? null, name: name ?? null, values, idealOutput: idealOutput ?? null, metadata },
  };
}
