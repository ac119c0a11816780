import type { Browser, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole, pasteInto } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

/** Opens a dataset "words" with two rows in the columns "word" and "note". */
async function openWords(server: Server, browser: Browser, rowCount = 2) {
  const columns = ["word", "note"].map((name) => ({ name, type: "text" as const }));
  const rows = Array.from({ length: rowCount }, (_, n) => ({
    values: { word: `w${n + 1}`, note: `n${n + 1}` },
  }));
  await addDataset(server, { slug: "words", columns, rows });
  const opened = await openConsole(server, await browser.newContext());
  await opened.page.goto(`${server.url}/console/datasets/words`);
  const grid = opened.page.getByRole("grid", { name: "Rows" });
  await grid.getByText("note", { exact: true }).waitFor();
  return { ...opened, grid };
}

/** The columns of the dataset, and the values of its rows. */
async function stored(server: Server) {
  const query = '{ dataset(slug: "words") { columns { name type } rows(first: 9) { nodes { values } } } }';
  const { columns, rows } = await server.run(query);
  return {
    columns: columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`),
    rows: rows.map(({ values }: { values: unknown }) => values),
  };
}

const headings = (page: Page) =>
  page.getByRole("columnheader").evaluateAll((cells) => cells.map((cell) => cell.textContent));

describe.skipIf(!hasChromium)(`the columns of a dataset in Chromium${skipReason}`, () => {
  it("are renamed, removed and added by mouse in one change, which is undone with all values", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser);
    await grid.getByRole("button", { name: "word" }).click();
    const dialog = page.getByRole("dialog", { name: "Columns" });
    await dialog.getByLabel("Column 1", { exact: true }).fill("term");
    await dialog.getByRole("button", { name: "Remove column 2" }).click();
    await dialog.getByRole("button", { name: "Column", exact: true }).click();
    await dialog.getByLabel("Column 3", { exact: true }).fill("facts");
    await dialog.getByLabel("Type of column 3").selectOption("JSON");
    expect(await stored(server)).toMatchObject({ columns: ["word TEXT", "note TEXT"] });
    await dialog.getByRole("button", { name: "Save, and remove 1 column" }).click();
    await grid.getByText("facts", { exact: true }).waitFor();
    expect(await headings(page)).toEqual(["#", "term", "facts", "Ideal output", "Delete"]);
    await grid.getByText("w2", { exact: true }).waitFor();
    expect(await stored(server)).toEqual({
      columns: ["term TEXT", "facts JSON"],
      rows: [{ term: "w1" }, { term: "w2" }],
    });
    await page.keyboard.press("Control+z");
    const note = "what was removed stands at the end now, without values of rows deleted since";
    await page.getByText(`Undone: the change of columns; ${note}`).waitFor();
    await grid.getByText("n2", { exact: true }).waitFor();
    expect(await headings(page)).toEqual(["#", "word", "note", "Ideal output", "Delete"]);
    expect(await stored(server)).toEqual({
      columns: ["word TEXT", "note TEXT"],
      rows: [
        { word: "w1", note: "n1" },
        { word: "w2", note: "n2" },
      ],
    });
    expect(complaints).toEqual([]);
  });

  it("are changed by keyboard alone, and a column that is kept after all is kept", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser);
    await page.getByRole("button", { name: "Columns…" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("term");
    for (const key of ["Tab", "Tab", "Tab", "Enter"]) await page.keyboard.press(key); // removes the second
    await page.getByRole("button", { name: "Keep it" }).waitFor();
    await page.keyboard.press("Enter"); // on what stands in its place
    await page.getByLabel("Column 2", { exact: true }).waitFor();
    for (const key of ["Tab", "Tab", "Enter"]) await page.keyboard.press(key);
    await page.keyboard.type("level");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await grid.getByText("level", { exact: true }).waitFor();
    expect(await stored(server)).toEqual({
      columns: ["term TEXT", "note TEXT", "level TEXT"],
      rows: [
        { term: "w1", note: "n1" },
        { term: "w2", note: "n2" },
      ],
    });
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the change of columns", { exact: true }).waitFor();
    expect(await stored(server)).toMatchObject({ columns: ["word TEXT", "note TEXT"] });
    expect(complaints).toEqual([]);
  });

  it("keep what was typed where they cannot be saved, and wait for texts of cells that are not stored", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser);
    await page.getByRole("button", { name: "Columns…" }).click();
    await page.getByLabel("Column 1", { exact: true }).fill("note");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("A dataset cannot have two columns").waitFor();
    expect(await page.getByLabel("Column 1", { exact: true }).inputValue()).toBe("note");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.route("**/graphql", (route) =>
      route.request().postData()?.includes("mutation UpdateRow") ? route.abort() : route.continue(),
    );
    await grid.focus();
    await page.keyboard.type("typed");
    await page.keyboard.press("Enter");
    await page.getByText("Gabbro cannot be reached.").waitFor();
    await page.getByRole("button", { name: "Columns…" }).click();
    await page.getByText("A text of a cell is not stored yet").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  });

  it("show while there is no row, which is where a block is pasted and a deletion undone", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser, 0);
    await page.getByText("No rows yet").waitFor();
    await grid.focus();
    const reads: string[] = [];
    page.on("request", (request) => {
      if (request.postData()?.includes("query DatasetRows")) reads.push(request.url());
    });
    await pasteInto(page, "w1\tn1\n");
    await grid.getByText("w1", { exact: true }).waitFor();
    await page.getByText("1 row", { exact: true }).waitFor();
    expect(reads).toEqual([]);
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No rows yet").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the deletion").waitFor();
    await grid.getByText("w1", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });
});
