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

/** Changes the columns once the changes before are stored, and can undo and redo it. */
export function useColumnChange({ client, slug, onStored, inTurn, done }: Storing) {
  const save = useSave(ChangeColumns);
  const changeLater = (change: ColumnChange) => {
    let key = crypto.randomUUID(); // of all tries until one succeeds
    return async (): Promise<Outcome<unknown>> => {
      const fetchOptions = { headers: { "idempotency-key": key } };
      const variables = { slug, input: inputOf(change) };
      const { data, error } = await client
        .mutation<ChangeColumnsMutation>(String(ChangeColumns), variables, { fetchOptions })
        .toPromise();
      if (!data || error) return { error };
      key = crypto.randomUUID();
      return { data };
    };
  };
  const change = (to: ColumnChange) =>
    inTurn(async () => {
      const data = await save.run({ slug, input: inputOf(to) });
      if (!data) return null;
      done({
        name: "the change of columns",
        ...(to.removed.length > 0 && {
          note: "; what was removed stands at the end now, without values of rows deleted since",
        }),
        undo: changeLater(inverseOf(to)),
        redo: changeLater(to),
      });
      onStored();
      return data;
    });
  return { change, save };
}
