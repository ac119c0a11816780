import type { Browser, Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole, pasteInto } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";
import { DELETE, holdChanges, openWords, setNote, storedWords } from "../support/words.ts";

/** Answers changes, after the first so many, as a server does that has too much to do, until the returned function is called. */
async function refuseChangesAfter(page: Page, count: number): Promise<() => void> {
  const busy = { message: "Too many requests.", extensions: { code: "TOO_MANY_REQUESTS" } };
  let left = count;
  await page.route("**/graphql", async (route) => {
    const isChange = route.request().postData()?.includes("mutation");
    if (!isChange || left-- > 0) return route.continue();
    await route.fulfill({ status: 429, json: { errors: [busy] } });
  });
  return () => {
    left = Number.POSITIVE_INFINITY;
  };
}

/** Lets the pauses between tries pass until a text shows. */
async function waitWithoutPauses(page: Page, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await page.clock.fastForward(9_000);
        return page.getByText(text).count();
      },
      { timeout: 60_000 },
    )
    .toBe(1);
}

/** Opens a dataset of so many columns, c1 and on, at an address. */
async function openWide(server: Server, browser: Browser, search = "") {
  const columns = Array.from({ length: 60 }, (_, n) => ({ name: `c${n + 1}`, type: "text" as const }));
  const values = Object.fromEntries(columns.map(({ name }) => [name, `value of ${name}`]));
  await addDataset(server, { slug: "wide", columns, rows: [{ values }, { values: {} }] });
  const { page } = await openConsole(server, await browser.newContext());
  await page.goto(`${server.url}/console/datasets/wide${search}`);
  const grid = page.getByRole("grid", { name: "Rows" });
  await grid.getByText("value of c1", { exact: true }).waitFor();
  /** Whether a column is in view, beside the numbers of the rows. */
  const isInView = async (name: string) => {
    const cell = (await grid.getByText(`value of ${name}`, { exact: true }).boundingBox())!;
    const number = (await grid.getByRole("rowheader").first().boundingBox())!;
    const frame = (await grid.boundingBox())!;
    return (
      number.x >= frame.x &&
      cell.x >= number.x + number.width - 1 &&
      cell.x + cell.width <= frame.x + frame.width
    );
  };
  return { page, grid, isInView };
}

const RENAME_NOTE =
  'mutation { updateDataset(slug: "words", input: { renameColumns: [{ from: "note", to: "remark" }] }) { dataset { id } } }';

describe.skipIf(!hasChromium)(`a sheet in trouble in Chromium${skipReason}`, () => {
  it("keeps the open editor where the rows cannot be read again", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 3);
    await grid.getByText("w1", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("one");
    await server.run(DELETE, { id: rowIds[2] });
    await page.route("**/graphql", (route) =>
      route.request().postData()?.includes("query DatasetRows") ? route.abort() : route.continue(),
    );
    await page.keyboard.press("Enter");
    await page.keyboard.type("an hour of work");
    await page.getByText("Gabbro cannot be reached.").waitFor();
    expect(await page.getByLabel("Value").inputValue()).toBe("an hour of work");
    await page.unroute("**/graphql");
    await page.keyboard.press("Enter");
    await expect
      .poll(() => storedWords(server))
      .toEqual([
        ["one", "n1", ""],
        ["an hour of work", "n2", ""],
      ]);
    await page.getByRole("button", { name: "Try again" }).click();
    await grid.getByText("n2", { exact: true }).waitFor();
  });

  it("asks before it is left in the middle of a paste, and shows how far it is", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    const release = await holdChanges(page);
    await grid.focus();
    await pasteInto(page, "one\ntwo\nthree\nfour\n");
    await page.getByRole("progressbar", { name: "Paste" }).waitFor();
    const asked = page.waitForEvent("dialog");
    void page.reload().catch(() => {});
    await (await asked).dismiss();
    await page.getByRole("link", { name: "Datasets" }).first().click();
    await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
    release();
    await page.getByRole("heading", { name: "Datasets" }).waitFor();
    const words = (await storedWords(server, 4)).map(([word]) => word);
    expect(words).toEqual(["one", "two", "three", "four"]);
  });

  it("goes on with a paste while the server has too much to do, and says where it stopped", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    await page.clock.install();
    const release = await refuseChangesAfter(page, 1);
    await grid.focus();
    const block = "one\ntwo\nthree\nfour\n";
    await pasteInto(page, block);
    await waitWithoutPauses(page, "Stopped at row 2: Too many requests. Paste again at the same cell");
    await page.getByText("1 row changed.").waitFor();
    await pasteInto(page, block);
    await page.clock.fastForward(1_000);
    release();
    await waitWithoutPauses(page, "2 rows changed, 1 row added.");
    const words = (await storedWords(server, 9)).map(([word]) => word);
    expect(words).toEqual(["one", "two", "three", "four"]);
  });

  it("adds the rows of a paste once, though it is pasted again as all answers were lost", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 1);
    await page.clock.install();
    await page.route("**/graphql", async (route) => {
      const body = route.request().postData() ?? "";
      if (body.includes("query DatasetHead")) return route.abort();
      if (!body.includes("mutation AddRows")) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await grid.focus();
    await pasteInto(page, "w1\ntwo\nthree\n");
    await waitWithoutPauses(page, "Stopped at row 2: Gabbro cannot be reached.");
    await page.unroute("**/graphql");
    await pasteInto(page, "w1\ntwo\nthree\n");
    await page.getByText("2 rows added.").waitFor();
    const words = (await storedWords(server, 9)).map(([word]) => word);
    expect(words).toEqual(["w1", "two", "three"]);
  });

  it("goes on with the text of a cell after Enter, and replaces it with what one types", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    await grid.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("!");
    await page.keyboard.press("Enter");
    await grid.getByText("w1!", { exact: true }).waitFor();
    await page.keyboard.type("new");
    await page.keyboard.press("Enter");
    await grid.getByText("new", { exact: true }).waitFor();
    expect(await grid.getByText("w2").count()).toBe(0);
  });

  it("shows the text that was typed into a row which others have deleted, until it is dropped", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 3);
    await grid.getByText("w1", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("an hour of work");
    for (const id of rowIds.slice(0, 2)) await server.run(DELETE, { id });
    await page.keyboard.press("Enter");
    await page.getByText("1 row", { exact: true }).waitFor();
    await page.getByText("an hour of work", { exact: true }).waitFor();
    expect(await page.getByLabel("Value").count()).toBe(0);
    await page.getByRole("button", { name: "Drop the text" }).click();
    await page.getByText("an hour of work", { exact: true }).waitFor({ state: "detached" });
  });

  it("shows the text for a column which others have renamed, and the values under its new name", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    await grid.getByText("n1", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("an hour of work");
    await server.run(RENAME_NOTE);
    await page.keyboard.press("Enter");
    await grid.getByText("remark", { exact: true }).waitFor();
    await grid.getByText("n1", { exact: true }).waitFor();
    await page.getByText("an hour of work", { exact: true }).waitFor();
    await pasteInto(page, "pasted");
    await page.getByText("1 row changed.").waitFor();
    await page.getByRole("button", { name: "Drop the text" }).click();
    await page.getByText("an hour of work", { exact: true }).waitFor({ state: "detached" });
    expect((await server.run(`{ dataset(slug: "words") { rows { nodes { values } } } }`)).rows).toEqual([
      { values: { word: "w1", remark: "n1" } },
      { values: { word: "w2", remark: "pasted" } },
    ]);
  });

  it("keeps the text of a new row for a column which others have renamed", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 1);
    await page.getByRole("button", { name: "Add row" }).click();
    const dialog = page.getByRole("dialog", { name: "Add row" });
    await dialog.getByLabel("word").fill("w2");
    await dialog.getByLabel("note").fill("an hour of work");
    await server.run(RENAME_NOTE);
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await dialog.getByText(/omitted: note/).waitFor();
    await grid.getByText("remark", { exact: true }).waitFor();
    expect(await dialog.getByLabel("note").inputValue()).toBe("an hour of work");
    expect(await dialog.getByRole("button", { name: "Add", exact: true }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await grid.getByText("w2", { exact: true }).waitFor();
    expect(await storedWords(server)).toEqual([
      ["w1", "", ""],
      ["w2", "", ""],
    ]);
  });

  it("says what a row that comes back has lost, and changes no row that took its key meanwhile", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    const add = (note: string) =>
      server.run(
        `mutation { addDatasetItem(slug: "words", input: { key: "k", values: { word: "keyed", note: "${note}" } }) { datasetRow { id } } }`,
      );
    await add("ours");
    await page.reload();
    for (const word of ["keyed", "w1"]) {
      await grid.getByText(word, { exact: true }).click();
      await page.keyboard.press("Delete");
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await add("theirs");
    await server.run(RENAME_NOTE);
    await grid.focus();
    await page.keyboard.press("Control+z");
    await page.getByText(/Undone: the deletion.*omitted: note/).waitFor();
    await page.keyboard.press("Control+z");
    await page.getByText("A row with the key “k” has come meanwhile.").waitFor();
    const { rows } = await server.run('{ dataset(slug: "words") { rows { nodes { key values } } } }');
    expect(rows).toEqual([
      { key: null, values: { word: "w2", remark: "n2" } },
      { key: "k", values: { word: "keyed", remark: "theirs" } },
      { key: null, values: { word: "w1" } },
    ]);
  });

  it("undoes a deletion whose answer was lost", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    const losesAnswer = async (route: Route) => {
      if (!route.request().postData()?.includes("mutation DeleteRow")) return route.continue();
      await route.fetch();
      await route.abort();
    };
    await page.route("**/graphql", losesAnswer);
    await grid.focus();
    await page.keyboard.press("Delete");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("Gabbro cannot be reached.").waitFor();
    await page.unroute("**/graphql");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.waitFor({ state: "detached" });
    await grid.getByText("w1", { exact: true }).waitFor({ state: "detached" });
    await page.keyboard.press("Control+z");
    await grid.getByText("w1", { exact: true }).waitFor();
    expect(await storedWords(server)).toEqual([
      ["w2", "n2", ""],
      ["w1", "n1", ""],
    ]);
  });

  it("undoes a row that was added, and then what was changed before", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 1);
    await grid.focus();
    await page.keyboard.type("edited");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Add row" }).click();
    await page.getByRole("dialog").getByLabel("word").fill("new");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await grid.getByText("new", { exact: true }).waitFor();
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the new row").waitFor();
    expect(await storedWords(server)).toEqual([["edited", "n1", ""]]);
    await page.keyboard.press("Control+z");
    await page.getByText("Undone: the edit of “word”").waitFor();
    expect(await storedWords(server)).toEqual([["w1", "n1", ""]]);
  });

  it("shows the last row when somebody adds one while another is deleted", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    const add = `mutation { addDatasetItem(slug: "words", input: { values: { word: "theirs" } }) { datasetRow { id } } }`;
    await page.route("**/graphql", async (route) => {
      if (!route.request().postData()?.includes("mutation DeleteRow")) return route.continue();
      const response = await route.fetch();
      await server.run(add);
      await route.fulfill({ response });
    });
    await grid.focus();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await grid.getByText("theirs", { exact: true }).waitFor();
    expect(await grid.getAttribute("aria-rowcount")).toBe("4");
  });
});

describe.skipIf(!hasChromium)(`the keys of a sheet in Chromium${skipReason}`, () => {
  it("keeps the focus when the cell that was clicked is scrolled out of view", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 200);
    await grid.getByText("w2", { exact: true }).click();
    for (let n = 0; n < 8; n++) await page.keyboard.press("PageDown");
    await grid.getByText("w2", { exact: true }).waitFor({ state: "detached" });
    await page.keyboard.type("typed");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await storedWords(server, 98))[97]).toEqual(["typed", "n98", ""]);
  });

  it("scrolls sideways to the selected column, and to that of the address", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, isInView } = await openWide(server, browser, "?cell=1.30");
    await expect.poll(() => isInView("c30")).toBe(true);
    await grid.focus();
    await page.keyboard.press("Home");
    await expect.poll(() => isInView("c1")).toBe(true);
    for (let n = 0; n < 20; n++) await page.keyboard.press("ArrowRight");
    await expect.poll(() => isInView("c21")).toBe(true);
    await page.keyboard.press("Control+End");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => isInView("c60")).toBe(true);
    for (let n = 0; n < 20; n++) await page.keyboard.press("ArrowLeft");
    await expect.poll(() => isInView("c40")).toBe(true);
  });

  it("goes back a cell by Shift Tab", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 2);
    await grid.getByText("n1", { exact: true }).click();
    await page.keyboard.type("second");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.type("first");
    await page.keyboard.press("Tab");
    await expect.poll(async () => (await storedWords(server))[0]).toEqual(["first", "second", ""]);
    await expect.poll(() => grid.locator('[aria-selected="true"]').innerText()).toBe("second");
  });

  it("begins to edit by AltGr, which types @ on many keyboards", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 1);
    await grid.focus();
    await page.evaluate(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {
      key: "@", ctrlKey: true, altKey: true, modifierAltGraph: true, bubbles: true, cancelable: true,
    }))`);
    expect(await page.getByLabel("Value").inputValue()).toBe("@");
  });

  it("leaves Enter to who chooses signs of Japanese with it", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 1);
    await grid.focus();
    await page.keyboard.type("a ");
    const session = await page.context().newCDPSession(page);
    await session.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
    await session.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Enter", code: "Enter" });
    await session.send("Input.insertText", { text: "日本" });
    expect(await page.getByLabel("Value").inputValue()).toBe("a 日本");
    await page.keyboard.press("Enter");
    await expect.poll(() => storedWords(server)).toEqual([["a 日本", "n1", ""]]);
  });

  it("copies, cuts and empties the selected cell", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 3);
    await setNote(server, rowIds[0]!, 'two\n"lines"');
    await page.reload();
    await page.evaluate(
      `document.addEventListener("copy", ({ clipboardData }) => { window.copied = clipboardData.getData("text/plain"); })`,
    );
    await grid.getByText("two").click();
    await page.keyboard.press("Control+c");
    const copied = String(await page.evaluate("window.copied"));
    await grid.getByText("n2", { exact: true }).click();
    await pasteInto(page, copied);
    await page.getByText("1 row changed.").waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+x");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Backspace");
    await expect
      .poll(() => storedWords(server))
      .toEqual([
        ["w1", 'two\n"lines"', ""],
        ["", 'two\n"lines"', ""],
        ["", "n3", ""],
      ]);
  });
});
