import { readFile } from "node:fs/promises";
import type { BrowserContext, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole, pasteInto } from "../support/console.ts";
import { type Server, startServer } from "../support/server.ts";
import { addWords, DELETE, holdChanges, openWords, setNote, storedWords } from "../support/words.ts";

/** Copies a row until there are a million. */
const addUpToAMillion = (server: Server, id: string) =>
  server.database.orm.em.fork().execute(
    `insert into dataset_rows (id, workspace_id, dataset_id, "values", created_at)
     with recursive numbers (n) as (select 2 union all select n + 1 from numbers where n < 1000000)
     select printf('f%07d-0000-7000-8000-000000000000', n), workspace_id, dataset_id, json_object('word', 'w' || n), created_at
     from numbers cross join dataset_rows where id = '${id}'`,
  );

/** How many rows each page has asked for since. */
function countRows(page: Page): number[] {
  const firsts: number[] = [];
  page.on("request", (request) => {
    const { variables } = request.url().endsWith("/graphql") ? request.postDataJSON() : {};
    if (variables?.first) firsts.push(variables.first);
  });
  return firsts;
}

const LONG = { timeout: 60_000 };

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

  it("shows the cell of its address among many rows, and any other place, reading little else", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds, complaints } = await openWords(server, browser, 20_000);
    const firsts = countRows(page);
    await page.goto(`${server.url}/console/datasets/words?cell=15000.2`);
    await grid.getByText("n15000", { exact: true }).waitFor();
    expect(await grid.locator('[aria-selected="true"]').innerText()).toBe("n15000");
    expect(await grid.getAttribute("aria-rowcount")).toBe("20001");
    await grid.focus();
    await page.keyboard.press("Control+End");
    await grid.getByText("w20000", { exact: true }).waitFor();
    await page.keyboard.press("Home");
    await page.keyboard.type("the last one");
    await page.keyboard.press("Enter");
    await expect
      .poll(() =>
        server.run("query ($id: ID!) { node(id: $id) { ... on DatasetRow { values } } }", {
          id: rowIds.at(-1),
        }),
      )
      .toMatchObject({ values: { word: "the last one" } });
    await grid.evaluate((element: { scrollTop: number }) => {
      element.scrollTop = 34 * 9_999;
    });
    await grid.getByText("w10000", { exact: true }).waitFor();
    await expect.poll(() => page.url()).toContain("cell=20000.1"); // what is scrolled to is not selected
    await page.reload();
    await grid.getByText("w10000", { exact: true }).waitFor();
    expect(await grid.getByText("w9990", { exact: true }).count()).toBe(1);
    await page.keyboard.press("Tab");
    await grid.focus();
    await page.keyboard.press("Control+Home");
    await grid.getByText("w1", { exact: true }).waitFor();
    expect(firsts.reduce((sum, first) => sum + first, 0)).toBeLessThan(3_000);
    expect(complaints).toEqual([]);
  });

  describe("of a million rows", () => {
    let server: Server; // one for both tests, as making the rows takes seconds
    beforeAll(async () => {
      server = await startServer({ console: true });
      const { rowIds } = await addWords(server, 1);
      await addUpToAMillion(server, rowIds[0]!);
    });
    afterAll(() => server[Symbol.asyncDispose]());

    const openRows = async (context: BrowserContext) => {
      const { page } = await openConsole(server, context);
      await page.goto(`${server.url}/console/datasets/words`);
      const grid = page.getByRole("grid", { name: "Rows" });
      await page.getByText("1,000,000 rows", { exact: true }).waitFor();
      await grid.focus();
      return { page, grid };
    };

    it("shows every one, though a browser cannot draw that many below each other", async () => {
      await using browser = await openBrowser();
      const { page, grid } = await openRows(await browser.newContext());
      for (const [key, at] of [
        ["Control+End", 1_000_000],
        ["ArrowUp", 999_999],
        ["PageUp", 999_987],
        ["PageUp", 999_975],
        ["Control+Home", 1],
        ["PageDown", 13],
        ["PageDown", 25],
      ] as const) {
        await page.keyboard.press(key);
        const cell = grid.getByText(`w${at}`, { exact: true });
        await cell.waitFor();
        const [row, frame] = [(await cell.boundingBox())!, (await grid.boundingBox())!];
        expect(row.y, key).toBeGreaterThanOrEqual(frame.y + 32); // below the head
        expect(row.y + row.height, key).toBeLessThanOrEqual(frame.y + frame.height + 1);
      }
      await grid.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
        element.scrollTop = element.scrollHeight;
      });
      await grid.getByText("w1000000", { exact: true }).waitFor();
      const last = (await grid.getByText("w1000000", { exact: true }).boundingBox())!;
      const frame = (await grid.boundingBox())!;
      expect(last.y + last.height).toBeLessThanOrEqual(frame.y + frame.height + 1);
    });

    it("shows the last one also at a large zoom", async () => {
      await using browser = await openBrowser("--force-device-scale-factor=4");
      const { page, grid } = await openRows(await browser.newContext({ viewport: null }));
      expect(await page.evaluate("devicePixelRatio")).toBe(4);
      await page.keyboard.press("Control+End");
      const cell = grid.getByText("w1000000", { exact: true });
      await cell.waitFor();
      const [row, frame] = [(await cell.boundingBox())!, (await grid.boundingBox())!];
      expect(row.y + row.height).toBeLessThanOrEqual(frame.y + frame.height + 1);
      await page.keyboard.press("Control+Home");
      await grid.getByText("w1", { exact: true }).waitFor();
    });
  });

  it("shows and exports rows that are too large for an answer of a whole page", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 310);
    await server.database.orm.em
      .fork()
      .execute(
        `update dataset_rows set "values" = json_set("values", '$.note', replace(hex(zeroblob(60000)), '0', 'x')) where id < '${rowIds[305]}'`,
      );
    await page.reload();
    await grid.getByText("w1", { exact: true }).waitFor();
    await grid.focus();
    await page.keyboard.press("Control+End");
    await grid.getByText("w310", { exact: true }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByRole("button", { name: "Export…" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the file" }).click();
    const lines = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\n");
    expect(lines).toHaveLength(311);
    expect(lines.at(-1)).toBe("w310,n310,,,,");
  });

  it("pastes over rows that it has not read, and deletes and undoes far below", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 1_500);
    await grid.focus();
    await pasteInto(page, Array.from({ length: 350 }, (_, n) => `p${n + 1}\n`).join(""));
    await page.getByText("350 rows changed.").waitFor(LONG);
    const word = async (n: number) => {
      const query = `{ dataset(slug: "words") { rows(first: 1, offset: ${n - 1}) { nodes { values } } } }`;
      return (await server.run(query)).rows[0]?.values.word;
    };
    expect(await Promise.all([1, 350, 351, 1_500].map(word))).toEqual(["p1", "p350", "w351", "w1500"]);
    await page.keyboard.press("Control+End");
    await grid.getByText("w1500", { exact: true }).waitFor();
    await page.keyboard.press("PageUp");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("1,499 rows", { exact: true }).waitFor();
    await grid.getByText("w1488", { exact: true }).waitFor({ state: "detached" });
    expect(await word(1_488)).toBe("w1489");
    await page.keyboard.press("Control+z");
    await page.getByText("1,500 rows", { exact: true }).waitFor();
    await grid.getByText("w1488", { exact: true }).waitFor();
    expect(await word(1_500)).toBe("w1488");
  });

  it("goes on with an edit whose row others have moved, and shows what stands there now", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, rowIds } = await openWords(server, browser, 1_000);
    await grid.getByText("w3", { exact: true }).dblclick();
    await page.getByLabel("Value").fill("typed meanwhile");
    for (const id of rowIds.slice(3, 303)) await server.run(DELETE, { id });
    await grid.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
      element.scrollTop = element.scrollHeight;
    });
    await grid.getByText("w1000", { exact: true }).waitFor();
    await page.getByText("700 rows", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => storedWords(server, 4)).toContainEqual(["typed meanwhile", "n3", ""]);
    await page.keyboard.press("Control+Home");
    await grid.getByText("w304", { exact: true }).waitFor();
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

  it("begins to edit with what was typed before the row was read", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid } = await openWords(server, browser, 3);
    const released = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      if (route.request().postData()?.includes("query DatasetRows")) await released.promise;
      await route.continue();
    });
    await page.reload();
    await grid.focus();
    await page.keyboard.type("ed");
    released.resolve();
    await page.getByLabel("Value").waitFor();
    await page.keyboard.type("ited");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await storedWords(server))[0]).toEqual(["edited", "n1", ""]);
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
    await grid.getByText("w1", { exact: true }).waitFor();
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
      await grid.getByText("n1", { exact: true }).waitFor();
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
