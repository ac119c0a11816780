import type { Client, OperationResult } from "urql";
import type { TypedDocumentString } from "../../gql/graphql.ts";

/** Reads so many rows, or fewer where an answer of so many would be too large. */
export async function readFewer<Data, Variables extends { first: number }>(
  client: Client,
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
): Promise<OperationResult<Data>> {
  const result = await client
    .query<Data>(String(document), variables, { requestPolicy: "network-only" })
    .toPromise();
  const isTooLarge = result.error?.graphQLErrors.some(
    ({ extensions }) => extensions.code === "QUERY_TOO_COMPLEX",
  );
  if (!isTooLarge || variables.first === 1) return result;
  return readFewer(client, document, { ...variables, first: Math.ceil(variables.first / 10) });
}
