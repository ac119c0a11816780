import type { Browser, Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole, pasteInto } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

/** Opens a dataset "words" with so many rows in the columns "word" and "note": w1, n1 and so on. */
async function openWords(server: Server, browser: Browser, rowCount: number) {
  const columns = ["word", "note"].map((name) => ({ name, type: "text" as const }));
  const rows = Array.from({ length: rowCount }, (_, n) => ({
    values: { word: `w${n + 1}`, note: `n${n + 1}` },
  }));
  const { rowIds } = await addDataset(server, { slug: "words", columns, rows });
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
async function storedWords(server: Server, first = 3): Promise<unknown[]> {
  const query = `{ dataset(slug: "words") { rows(first: ${first}) { nodes { values idealOutput } } } }`;
  const { rows } = await server.run(query);
  return rows.map(({ values, idealOutput }: { values: Record<string, unknown>; idealOutput: string }) =>
    [values.word, values.note, idealOutput].map((value) => value ?? ""),
  );
}

/** Keeps changes from reaching the server until the returned function is called. */
async function holdChanges(page: Page): Promise<() => void> {
  const released = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("mutation")) await released.promise;
    await route.continue();
  });
  return released.resolve;
}

async function setNote(server: Server, id: string, note: string): Promise<void> {
  const update =
    "mutation ($id: ID!, $input: UpdateDatasetItemInput!) { updateDatasetItem(id: $id, input: $input) { datasetRow { id } } }";
  expect(await server.run(update, { id, input: { values: { note } } })).not.toHaveProperty("error");
}

const LONG = { timeout: 15_000 };

describe.skipIf(!hasChromium)(`the grid of a dataset in Chromium${skipReason}`, () => {
  it("saves what was typed when another cell is clicked, which is then the selected one", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser, 3);
    await grid.getByText("n1", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("a note");
    await grid.getByText("w3", { exact: true }).click();
    await expect.poll(async () => (await storedWords(server))[0]).toEqual(["w1", "a note", ""]);
    await expect.poll(() => grid.locator('[aria-selected="true"]').innerText()).toBe("w3");
    expect(complaints).toEqual([]);
  });

  it("keeps an edit that is scrolled out of view", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 200);
    await grid.getByText("w1", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("far above");
    await grid.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
      element.scrollTop = element.scrollHeight;
    });
    await grid.getByText("w200", { exact: true }).waitFor();
    await grid.getByText("w2", { exact: true }).waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await storedWords(server))[0]).toEqual(["far above", "n1", ""]);
  });

  it("begins to edit by the first letter, also by those that are keys of the console", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    await grid.focus();
    await page.keyboard.type("gp? jk");
    await page.keyboard.press("Enter");
    await page.keyboard.type("/");
    await page.keyboard.press("Tab");
    await expect
      .poll(() => storedWords(server))
      .toEqual([
        ["gp? jk", "n1", ""],
        ["/", "n2", ""],
        ["w3", "n3", ""],
      ]);
    expect(page.url()).toContain("/datasets/words");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await expect.poll(() => grid.locator('[aria-selected="true"]').innerText()).toBe("n2");
  });

  it("keeps the text of a cell that cannot be saved, in its editor, until it is saved again", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 3);
    await page.route("**/graphql", (route) =>
      route.request().postData()?.includes("mutation") ? route.abort() : route.continue(),
    );
    await grid.getByText("w1", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("an hour of work");
    await page.keyboard.press("Enter");
    await page.getByText("Gabbro cannot be reached. Nothing of what you typed is lost.").waitFor();
    expect(await page.getByLabel("Value").inputValue()).toBe("an hour of work");
    await page.keyboard.type("another"); // in the cell below, which the key went on to
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByLabel("Value").count()).toBe(2);
    await page.unroute("**/graphql");
    await setNote(server, rowIds[0]!, "written by a colleague");
    await page.getByRole("button", { name: "Try again" }).click();
    await expect
      .poll(() => storedWords(server, 2))
      .toEqual([
        ["an hour of work", "written by a colleague", ""],
        ["another", "n2", ""],
      ]);
    await page.getByText("Gabbro cannot be reached").waitFor({ state: "detached" });
    expect(await page.getByLabel("Value").count()).toBe(0);
    await grid.getByText("n1", { exact: true }).waitFor(); // an edit shows its own column alone
  });

  it("takes a text back that cannot be saved, by Escape", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    await page.route("**/graphql", (route) =>
      route.request().postData()?.includes("mutation") ? route.abort() : route.continue(),
    );
    await grid.focus();
    await page.keyboard.type("x");
    await page.keyboard.press("Enter");
    await page.getByText("Gabbro cannot be reached.").waitFor();
    await page.getByLabel("Value").click();
    await page.keyboard.press("Escape");
    await grid.getByText("w1", { exact: true }).waitFor();
    expect(await page.getByText("Gabbro cannot be reached").count()).toBe(0);
  });

  it("takes a block of a spreadsheet over rows and past their end, and undoes it", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser, 2);
    await grid.getByText("n2", { exact: true }).click();
    await pasteInto(page, 'two\tideal\tbeyond\r\n"a ""quoted""\nline"\tsecond\r\nlast\t\r\n');
    await page.getByText("1 row changed, 2 rows added.").waitFor();
    const pasted = [
      ["w1", "n1", ""],
      ["w2", "two", "ideal"],
      ["", 'a "quoted"\nline', "second"],
      ["", "last", ""],
    ];
    expect(await storedWords(server, 9)).toEqual(pasted);
    await grid.getByText("last", { exact: true }).waitFor();
    await page.getByText("4 rows", { exact: true }).waitFor();
    await grid.getByText("w1", { exact: true }).click();
    await page.keyboard.type("changed");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await storedWords(server))[0]).toEqual(["changed", "n1", ""]);
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the edit of “word”").waitFor();
    expect(await storedWords(server, 9)).toEqual(pasted);
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the paste").waitFor();
    expect(await storedWords(server, 9)).toEqual([
      ["w1", "n1", ""],
      ["w2", "n2", ""],
    ]);
    await grid.getByText("last", { exact: true }).waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  it("undoes a deletion with all that the row had, and then what was edited in it", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 2);
    const metadata = { reviewed: true };
    const update =
      "mutation ($id: ID!, $input: UpdateDatasetItemInput!) { updateDatasetItem(id: $id, input: $input) { datasetRow { id } } }";
    await server.run(update, { id: rowIds[0]!, input: { metadata, name: "a name" } });
    await page.reload();
    await grid.focus();
    await page.keyboard.type("edited");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await storedWords(server))[0]).toEqual(["edited", "n1", ""]);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect.poll(() => storedWords(server)).toEqual([["w2", "n2", ""]]);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the deletion").waitFor();
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the edit").waitFor();
    const rows = await server.run('{ dataset(slug: "words") { rows { nodes { values name metadata } } } }');
    expect(rows.rows[1]).toEqual({ values: { word: "w1", note: "n1" }, name: "a name", metadata });
    await grid.getByText("w1", { exact: true }).waitFor();
  });

  it("says which rows of a block are refused, and stores the others", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    await page.route("**/graphql", async (route) => {
      const body = route.request().postData() ?? "";
      if (!body.includes("mutation UpdateRow") || !body.includes("bad")) return route.continue();
      await route.fulfill({
        json: { errors: [{ message: "That is bad.", extensions: { code: "BAD_INPUT" } }] },
      });
    });
    await grid.getByText("w1", { exact: true }).click();
    await pasteInto(page, "bad\ngood\n");
    await page.getByText("1 row changed, 1 row refused.").waitFor();
    await page.getByText("Row 1: That is bad.").waitFor();
    expect(await storedWords(server)).toEqual([
      ["w1", "n1", ""],
      ["good", "n2", ""],
    ]);
    await page.getByRole("button", { name: "Close the report" }).click();
    await page.getByText("Row 1: That is bad.").waitFor({ state: "detached" });
  });

  it("undoes quick edits of one cell one by one, though all were typed before the first was stored", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    const release = await holdChanges(page);
    await grid.focus();
    for (const text of ["A", "B", "C"]) {
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
      await page.keyboard.press("ArrowUp");
    }
    await grid.getByText("C", { exact: true }).waitFor();
    expect(await storedWords(server, 1)).toEqual([["w1", "n1", ""]]);
    release();
    await expect.poll(() => storedWords(server, 1)).toEqual([["C", "n1", ""]]);
    for (const text of ["B", "A", "w1"]) {
      await page.keyboard.press("Control+z");
      await expect.poll(() => storedWords(server, 1)).toEqual([[text, "n1", ""]]);
    }
  });

  it("adds a deleted row once, though the answers to its undo are lost", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    await grid.focus();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.clock.install();
    let tries = 0;
    await page.route("**/graphql", async (route) => {
      if (!route.request().postData()?.includes("mutation AddRows")) return route.continue();
      await route.fetch();
      await route.abort();
      tries += 1;
    });
    await page.keyboard.press("Control+z");
    await expect
      .poll(async () => {
        await page.clock.fastForward(9_000); // the longest pause between tries
        return tries;
      }, LONG)
      .toBe(4);
    await page.unroute("**/graphql");
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the deletion").waitFor();
    expect(await storedWords(server, 9)).toEqual([
      ["w2", "n2", ""],
      ["w1", "n1", ""],
    ]);
  });

  it("pastes over a text that could not be saved, also what is stored there already", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    const isChange = (route: Route) => route.request().postData()?.includes("mutation");
    await page.route("**/graphql", (route) => (isChange(route) ? route.abort() : route.continue()));
    await grid.focus();
    await page.keyboard.type("first");
    await page.keyboard.press("Enter");
    await page.keyboard.type("second");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByLabel("Value").count()).toBe(2);
    await page.unroute("**/graphql");
    await page.keyboard.press("Home");
    await page.keyboard.press("PageUp");
    await pasteInto(page, "pasted\nw2\n");
    await page.getByText("1 row changed.").waitFor();
    await expect.poll(() => page.getByLabel("Value").count()).toBe(0);
    await grid.getByText("pasted", { exact: true }).waitFor();
    await grid.getByText("w2", { exact: true }).waitFor();
    expect(await page.getByText("Gabbro cannot be reached").count()).toBe(0);
    expect(await storedWords(server, 2)).toEqual([
      ["pasted", "n1", ""],
      ["w2", "n2", ""],
    ]);
  });

  it("stores a cell in the middle of an edit when the Back key leaves the screen, or asks", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser, 2);
    const openAgain = async () => {
      await page.getByRole("link", { name: "Datasets" }).first().click();
      await page.getByRole("link", { name: "words" }).click();
      await grid.focus();
    };
    await openAgain();
    await page.keyboard.type("typed");
    await page.goBack();
    await page.getByRole("heading", { name: "Datasets" }).waitFor();
    await expect.poll(() => storedWords(server, 1)).toEqual([["typed", "n1", ""]]);
    await openAgain();
    const release = await holdChanges(page);
    await page.keyboard.type("later");
    await page.goBack();
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await grid.getByText("later", { exact: true }).waitFor();
    await page.goBack();
    await question.waitFor();
    release();
    await page.getByRole("heading", { name: "Datasets" }).waitFor();
    expect(await storedWords(server, 1)).toEqual([["later", "n1", ""]]);
    expect(complaints).toEqual([]);
  });
});
