import { requestsForEachField } from "./everyField.ts";
import { get, graphql, post, type StoredData } from "./storing.ts";

const ROWS = 100;
const CHANGED = 40;
const CHARACTERS = 9_000_000;
/** As many rows as one request may change. */
const AT_ONCE = 3;
/** Characters of three bytes that one update adds to a row, and how many updates make each of two rows longer. */
const MERGED_CHARACTERS = 2_600_000;
const MERGED = [1, 2];
const COLUMNS = ["a", "b"];
const DELETED = 3;
const SMALL_ENOUGH_TO_DELETE_AT_ONCE = 5;

const LONG = "x".repeat(CHARACTERS);
/** A row is long by each of its texts in turn. */
const longBy = [
  { values: { a: LONG } },
  { values: {}, idealOutput: LONG },
  { values: {}, metadata: { a: LONG } },
  { values: {}, name: LONG },
];

const create = (slug: string) =>
  graphql(
    `mutation { createDataset(input: { slug: "${slug}", columns: [${COLUMNS.map((name) => `{ name: "${name}", type: JSON }`).join(", ")}] }) { __typename } }`,
  );
const update = (id: string, input: object) =>
  graphql(
    "mutation ($id: ID!, $input: UpdateDatasetItemInput!) { updateDatasetItem(id: $id, input: $input) { __typename } }",
    { id, input },
  );

function queries(version: number, ids: string[]) {
  const between = `slug: "long-rows", from: { version: ${version - 1} }, to: { version: ${version} }`;
  return {
    ...requestsForEachField("dataset", 'slug: "long-rows"'),
    ...requestsForEachField("datasets"),
    ...requestsForEachField("datasetDiff", between),
    nodes: graphql("query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on DatasetRow { key } } }", {
      ids: ids.slice(0, 100),
    }),
    "an older version": graphql(
      `{ dataset(slug: "long-rows", version: ${version - 1}) { rows(first: 1000) { nodes { key } } } }`,
    ),
    "GET /datasets/:slug": get("/datasets/long-rows"),
  };
}

/** Rows of 9 MB with keys, of which some were changed. */
export const longRows: StoredData = {
  name: "long rows",
  store: async (send, scale) => {
    const rows = Math.ceil(ROWS * scale);
    const ids: string[] = [];
    await send(create("long-rows"));
    for (let n = 0; n < rows; n++) {
      const row = JSON.stringify({ ...longBy[n % longBy.length], key: `key ${n}` });
      ids.push(/"id":"([^"]+)"/.exec(await send(post("/datasets/long-rows/items", row)))![1]!);
    }
    const merged: string[] = [];
    for (const updates of MERGED) {
      const id = /"id":"([^"]+)"/.exec(await send(post("/datasets/long-rows/items", '{"values":{}}')))![1]!;
      merged.push(id);
      for (const name of COLUMNS.slice(0, Math.ceil(updates * scale)))
        await send(update(id, { values: { [name]: "\u8a9e".repeat(MERGED_CHARACTERS) } }));
    }
    const put = (keys: number[]) =>
      graphql(
        'mutation ($items: [DatasetItemInput!]!) { addDatasetItems(slug: "long-rows", input: { items: $items }) { __typename } }',
        { items: keys.map((n) => ({ key: `key ${n}`, values: { a: 1 } })) },
      );
    const numbers = Array.from({ length: rows }, (_, n) => n);
    const changed = Math.ceil(CHANGED * scale);
    for (let from = 0; from < changed; from += AT_ONCE)
      await send(put(numbers.slice(from, Math.min(from + AT_ONCE, changed))));
    for (let n = 0; n < DELETED; n++) {
      await send(create(`deleted-${n}`));
      for (let row = 0; row < SMALL_ENOUGH_TO_DELETE_AT_ONCE; row++)
        await send(post(`/datasets/deleted-${n}/items`, JSON.stringify(longBy[0])));
    }
    const groups = [0, 1, 2].map((n) => numbers.slice(changed + n * AT_ONCE).slice(0, AT_ONCE));
    const version = Number(
      /"version":(\d+)/.exec(await send(graphql('{ dataset(slug: "long-rows") { version } }')))![1],
    );
    const [merge, mergeMore] = merged as [string, string];
    return {
      ...queries(version, ids),
      "a long row by its id": graphql(
        "query ($id: ID!) { node(id: $id) { id ... on DatasetRow { key createdAt values } } }",
        { id: merge },
      ),
      "a change of one row": update(ids.at(-1)!, { idealOutput: null }),
      "a change of a long row": update(merge, { idealOutput: null }),
      "a change of a longer row": update(mergeMore, { idealOutput: null }),
      "rows with the keys of long ones": groups.map(put),
      deleteDatasetItem: [...merged, ids[0]!].map((id) =>
        graphql("mutation ($id: ID!) { deleteDatasetItem(id: $id) { __typename } }", { id }),
      ),
      deleteDataset: Array.from({ length: DELETED }, (_, n) =>
        graphql(`mutation { deleteDataset(slug: "deleted-${n}") { __typename } }`),
      ),
    };
  },
};
