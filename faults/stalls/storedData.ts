import { longRows } from "./longRows.ts";
import { longVersions } from "./longVersions.ts";
import { manyEntities } from "./manyEntities.ts";
import { manyTexts } from "./manyWords.ts";
import { storedLogs } from "./storedLogs.ts";
import { get, graphql, post, type StoredData } from "./storing.ts";

const EMPTY_LISTS = `[${"[],".repeat(245_000)}0]`;
const ROWS_OF_LISTS = 42;

/** Each row takes 735 kB as it is stored, and 20 MB once it is parsed. */
const rowsOfLists: StoredData = {
  name: "rows of empty lists",
  store: async (send, scale) => {
    await send(
      graphql(
        'mutation { createDataset(input: { slug: "lists", columns: [{ name: "a", type: JSON }] }) { __typename } }',
      ),
    );
    const ids: string[] = [];
    while (ids.length < ROWS_OF_LISTS * scale) {
      const answer = await send(post("/datasets/lists/items", `{"values":{"a":${EMPTY_LISTS}}}`));
      ids.push(/"id":"([^"]+)"/.exec(answer)![1]!); // only its beginning is kept
    }
    const to = ids.length + 1;
    return {
      nodes: graphql("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", { ids }),
      datasetDiff: graphql(
        `{ datasetDiff(slug: "lists", from: { version: 1 }, to: { version: ${to} }) { nodes { after { id } } } }`,
      ),
      "dataset.rows": graphql(
        '{ dataset(slug: "lists") { rows(first: 1000) { nodes { values } } warning } }',
      ),
      "dataset.warning": graphql('{ dataset(slug: "lists") { warning } }'),
      "GET /datasets/:slug": get("/datasets/lists"),
    };
  },
};

const COLUMNS = 580;
const ROWS_OF_COLUMNS = 1_500;
const ROWS_AT_ONCE = 250;
const short = (n: number) => String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26));
const long = (n: number) => "\u0001".repeat(250) + short(n);

/** The names stand in each row of an answer, and a control character takes six bytes there. */
const renamedColumns: StoredData = {
  name: "columns that are renamed to long names",
  store: async (send, scale) => {
    const numbers = Array.from({ length: COLUMNS }, (_, n) => n);
    await send(
      graphql(
        'mutation ($columns: [DatasetColumnInput!]!) { createDataset(input: { slug: "renamed", columns: $columns }) { __typename } }',
        { columns: numbers.map((n) => ({ name: short(n), type: "TEXT" })) },
      ),
    );
    const values = Object.fromEntries(numbers.map((n) => [short(n), 1]));
    const items = Array.from({ length: ROWS_AT_ONCE }, () => ({ values }));
    for (let rows = 0; rows < ROWS_OF_COLUMNS * scale; rows += ROWS_AT_ONCE)
      await send(
        graphql(
          'mutation ($items: [DatasetItemInput!]!) { addDatasetItems(slug: "renamed", input: { items: $items }) { __typename } }',
          { items },
        ),
      );
    await send(
      graphql(
        'mutation ($renames: [ColumnRenameInput!]!) { updateDataset(slug: "renamed", input: { renameColumns: $renames }) { __typename } }',
        { renames: numbers.map((n) => ({ from: short(n), to: long(n) })) },
      ),
    );
    return {
      "GET /datasets/:slug": get("/datasets/renamed"),
      "dataset.rows": graphql('{ dataset(slug: "renamed") { rows(first: 100) { nodes { values } } } }'),
      datasetDiff: graphql(
        '{ datasetDiff(slug: "renamed", from: { version: 1 }, to: { tag: "latest" }, first: 100) { nodes { after { values } } } }',
      ),
    };
  },
};

const LINES = 498_000;
/** With as many messages in the place of each, as many as are allowed. */
const PLACEHOLDERS = 999;
const MESSAGES = 10;

const longPrompts: StoredData = {
  name: "prompts of many lines and many placeholders",
  store: async (send, scale) => {
    const lines = (mark: string) => `${mark}\n`.repeat((LINES * scale) / 2);
    const placeholders = Array.from({ length: PLACEHOLDERS * scale }, () => ({ placeholder: "many" }));
    const versions = [
      { version: "1", text: lines("a") },
      { version: "2", text: lines("b") },
      { version: "3", messages: [{ role: "user", content: "a" }, ...placeholders] },
    ];
    await send(graphql('mutation { createPrompt(input: { slug: "lines" }) { __typename } }'));
    for (const input of versions)
      await send(
        graphql(
          'mutation ($input: PromptVersionInput!) { createPromptVersion(slug: "lines", input: $input) { __typename } }',
          { input },
        ),
      );
    const messages = Array.from({ length: MESSAGES }, () => ({ role: "user", content: "a" }));
    return {
      promptDiff: graphql('{ promptDiff(slug: "lines", from: "1", to: "2") }'),
      renderPrompt: graphql(
        'query ($given: [PlaceholderValue!]!) { renderPrompt(slug: "lines", version: "3", placeholders: $given) { text } }',
        { given: [{ name: "many", messages }] },
      ),
    };
  },
};

export const allStoredData: StoredData[] = [
  rowsOfLists,
  renamedColumns,
  longPrompts,
  longRows,
  longVersions,
  manyEntities,
  ...manyTexts,
  ...storedLogs,
];
