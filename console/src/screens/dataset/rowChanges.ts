import { type Client, CombinedError, type OperationResult } from "urql";
import type {
  AddRowsMutation,
  DatasetItemInput,
  DeleteRowMutation,
  RowsAddedSinceQuery,
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
  query WholeRow($slug: String!, $id: ID!) {
    dataset(slug: $slug) {
      id
      version
    }
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

const RowsAddedSince = graphql(`
  query RowsAddedSince($slug: String!, $version: Int!, $after: String) {
    datasetDiff(slug: $slug, from: { version: $version }, to: { tag: "latest" }, first: 100, after: $after) {
      nodes {
        kind
        after {
          id
          key
        }
      }
      pageInfo {
        hasNextPage
        endCursor
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

/** All of a row, to add it again. */
export interface WholeRow {
  item: DatasetItemInput;
  /** A version of the dataset that has the row. */
  version: number;
}

/** All of a row, to add it again; null where it is gone. */
export async function readWhole(client: Client, slug: string, id: string): Promise<Outcome<WholeRow | null>> {
  const { data, error } = await client
    .query<WholeRowQuery>(String(WholeRow), { slug, id }, { requestPolicy: "network-only" })
    .toPromise();
  if (!data || error) return { error };
  if (data.node?.__typename !== "DatasetRow" || !data.dataset) return { data: null };
  const { key, name, values, idealOutput, metadata } = data.node;
  const item = {
    ...{ key: key ?? null, name: name ?? null, values },
    ...{ idealOutput: idealOutput ?? null, metadata: metadata ?? null },
  };
  return { data: { item, version: data.dataset.version } };
}

/** Refuses a row whose key another one has that was added after a version: to add it again would change that one. */
export async function refuseTakenKey(
  client: Client,
  slug: string,
  { item: { key }, version }: WholeRow,
): Promise<Outcome<null>> {
  if (!key) return { data: null };
  let after: string | null = null;
  do {
    const result: OperationResult<RowsAddedSinceQuery> = await client
      .query<RowsAddedSinceQuery>(
        String(RowsAddedSince),
        { slug, version, after },
        { requestPolicy: "network-only" },
      )
      .toPromise();
    if (!result.data || result.error) return { error: result.error };
    const { nodes, pageInfo } = result.data.datasetDiff;
    if (nodes.some((row) => row.kind === "ADDED" && row.after?.key === key))
      return {
        error: asError({ message: `A row with the key “${key}” has come meanwhile.`, code: "CONFLICT" }),
      };
    after = pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null;
  } while (after);
  return { data: null };
}

/** Deletes a row, if it is not gone: an attempt whose answer was lost may have deleted it. */
export async function deleteRow(client: Client, id: string): Promise<Outcome<null>> {
  const { error } = await client.mutation<DeleteRowMutation>(String(DeleteRow), { id }).toPromise();
  return error && !isRowGone(error) ? { error } : { data: null };
}
