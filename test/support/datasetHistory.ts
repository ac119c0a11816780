import { expect } from "vitest";
import { putDatasetItems } from "../../src/datasets/bulk.resolvers.ts";
import { datasetRowInput } from "../../src/datasets/inputs.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { createRandom } from "./random.ts";
import type { Server } from "./server.ts";

export interface Row {
  id: string;
  values: Record<string, unknown>;
  idealOutput: string | null;
  name: string | null;
  metadata: object | null;
}

/** What a dataset holds in a version. */
export interface State {
  version: number;
  columns: { name: string }[];
  rows: Row[];
  rowCount: number;
  warning: string | null;
}

export const STATE =
  "version columns { name } rows { nodes { id key name values idealOutput metadata createdAt } } rowCount warning";

export const CREATE =
  "mutation ($input: CreateDatasetInput!) { createDataset(input: $input) { dataset { slug } } }";
export const UPDATE =
  "mutation ($slug: String!, $input: UpdateDatasetInput!) { updateDataset(slug: $slug, input: $input) { dataset { version } } }";
export const ADD_MANY =
  "mutation ($slug: String!, $input: AddDatasetItemsInput!) { addDatasetItems(slug: $slug, input: $input) { errors { index } } }";
export const CHANGE_ROW =
  "mutation ($id: ID!, $input: UpdateDatasetItemInput!) { updateDatasetItem(id: $id, input: $input) { datasetRow { id } } }";
export const DELETE_ROW = "mutation ($id: ID!) { deleteDatasetItem(id: $id) { deletedDatasetItemId } }";

/** What a dataset holds now. */
export const stateOf = ({ run }: Server, slug: string): Promise<State> =>
  run(`query ($slug: String!) { dataset(slug: $slug) { ${STATE} } }`, { slug });

/** Stores rows as an import does. */
export async function importRows({ database }: Server, slug: string, rows: object[]): Promise<void> {
  const context = commandLineContext(database, await getWorkspaceId(database, "default"));
  await putDatasetItems(context, { slug, items: rows.map((row) => datasetRowInput.parse(row)) });
}

/** Long enough to be read apart from its row. */
const LONG = "x".repeat(9_000);

/** Changes a new dataset at random, and returns what it held in each version, from the first one. */
export async function randomHistory(server: Server, slug: string, steps: number): Promise<State[]> {
  const { run, post } = server;
  const { oneOf, below } = createRandom(steps);
  const values = () => ({ a: oneOf(["1", "2", LONG]), b: oneOf(["3", LONG]), none: "x" });
  const item = () => ({ values: values(), idealOutput: oneOf(["4", LONG]), metadata: { at: below(9) } });
  const keyed = () => ({ ...item(), key: oneOf(["k1", "k2", "k3"]) });
  const update = (input: object) => run(UPDATE, { slug, input });
  let columns = 0;
  const add = () => post(`/datasets/${slug}/items`, item());
  const changes: ((rows: Row[]) => Promise<unknown>)[] = [
    add,
    add,
    () => post(`/datasets/${slug}/items`, keyed()),
    () => run(ADD_MANY, { slug, input: { items: [item(), keyed(), keyed()] } }),
    () => importRows(server, slug, [item(), keyed(), keyed()]),
    (rows) => (rows[0] ? run(CHANGE_ROW, { id: oneOf(rows).id, input: { values: values() } }) : add()),
    (rows) => (rows[0] ? run(CHANGE_ROW, { id: oneOf(rows).id, input: { name: "named" } }) : add()),
    (rows) => (rows[0] ? run(DELETE_ROW, { id: oneOf(rows).id }) : add()),
    () => update({ renameColumns: [{ from: "b", to: `b${++columns}` }], addColumns: [column("b")] }),
    async () => {
      await update({ removeColumns: ["a"] });
      states.push(await stateOf(server, slug));
      await update({ addColumns: [column("a")] });
    },
  ];
  await run(CREATE, { input: { slug, columns: [column("a"), column("b")] } });
  const states = [await stateOf(server, slug)];
  for (let step = 0; step < steps; step++) {
    await oneOf(changes)(states.at(-1)!.rows);
    const state = await stateOf(server, slug);
    expect(state).toHaveProperty("version");
    states.push(state);
  }
  expect(states.map(({ version }) => version)).toEqual(states.map((_, before) => before + 1));
  return states;
}

const column = (name: string) => ({ name, type: "TEXT" });
