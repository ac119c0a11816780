import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import { openConsole } from "./console.ts";
import { addDataset } from "./data.ts";
import type { Server } from "./server.ts";

/** Adds a dataset "words" with so many rows in the columns "word" and "note": w1, n1 and so on. */
export function addWords(server: Server, rowCount: number) {
  const columns = ["word", "note"].map((name) => ({ name, type: "text" as const }));
  const rows = Array.from({ length: rowCount }, (_, n) => ({
    values: { word: `w${n + 1}`, note: `n${n + 1}` },
  }));
  return addDataset(server, { slug: "words", columns, rows });
}

/** Adds the dataset and opens it. */
export async function openWords(server: Server, browser: Browser, rowCount: number) {
  const { rowIds } = await addWords(server, rowCount);
  const opened = await openConsole(server, await browser.newContext());
  const grid = await showWords(opened.page, server);
  return { ...opened, grid, rowIds };
}

async function showWords(page: Page, server: Server) {
  await page.goto(`${server.url}/console/datasets/words`);
  const grid = page.getByRole("grid", { name: "Rows" });
  await grid.getByText("w1", { exact: true }).waitFor();
  return grid;
}

/** The first rows as they are stored, each as the texts of its cells. */
export async function storedWords(server: Server, first = 3): Promise<unknown[][]> {
  const query = `{ dataset(slug: "words") { rows(first: ${first}) { nodes { values idealOutput } } } }`;
  const { rows } = await server.run(query);
  return rows.map(({ values, idealOutput }: { values: Record<string, unknown>; idealOutput: string }) =>
    [values.word, values.note, idealOutput].map((value) => value ?? ""),
  );
}

/** Keeps changes from reaching the server until the returned function is called. */
export async function holdChanges(page: Page): Promise<() => void> {
  const released = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("mutation")) await released.promise;
    await route.continue();
  });
  return released.resolve;
}

export async function setNote(server: Server, id: string, note: string): Promise<void> {
  const update =
    "mutation ($id: ID!, $input: UpdateDatasetItemInput!) { updateDatasetItem(id: $id, input: $input) { datasetRow { id } } }";
  expect(await server.run(update, { id, input: { values: { note } } })).not.toHaveProperty("error");
}

export const DELETE = "mutation ($id: ID!) { deleteDatasetItem(id: $id) { deletedDatasetItemId } }";
