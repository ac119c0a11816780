import { useSave } from "../../data.ts";
import type { ChangeColumnsMutation } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { type ColumnChange, inputOf, inverseOf } from "./columnChanges.ts";
import type { Outcome } from "./rowChanges.ts";
import type { Storing } from "./useStoring.ts";

const ChangeColumns = graphql(`
  mutation ChangeColumns($slug: String!, $input: UpdateDatasetInput!) {
    updateDataset(slug: $slug, input: $input) {
      dataset {
        id
      }
    }
  }
`);

/** Changes the columns once the changes before are stored, and can undo it. */
export function useColumnChange({ client, slug, rows, onStored, inTurn, done }: Storing) {
  const save = useSave(ChangeColumns);
  const show = () => {
    rows.reload(); // a column may bring back the values of a removed one of its name
    onStored();
  };
  const undoOf = (change: ColumnChange) => {
    const variables = { slug, input: inputOf(inverseOf(change)) };
    const fetchOptions = { headers: { "idempotency-key": crypto.randomUUID() } };
    return async (): Promise<Outcome<unknown>> => {
      const { data, error } = await client
        .mutation<ChangeColumnsMutation>(String(ChangeColumns), variables, { fetchOptions })
        .toPromise();
      if (!data || error) return { error };
      show();
      return { data };
    };
  };
  const change = (to: ColumnChange) =>
    inTurn(async () => {
      const data = await save.run({ slug, input: inputOf(to) });
      if (!data) return null;
      const end = to.removed.length > 0 ? "; what was removed stands at the end now" : "";
      done({ name: `the change of columns${end}`, undo: undoOf(to) });
      show();
      return data;
    });
  return { change, save };
}
