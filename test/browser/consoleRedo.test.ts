import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { pasteInto } from "../support/console.ts";
import { type Server, startServer } from "../support/server.ts";
import { openWords } from "../support/words.ts";

/** The columns and the rows as they are stored. */
async function stored(server: Server): Promise<unknown> {
  const query = `{ dataset(slug: "words") { columns { name } rows { nodes { values idealOutput } } } }`;
  const { columns, rows } = (await server.graphql(query)).body.data.dataset;
  return { columns: columns.map(({ name }: { name: string }) => name), rows: rows.nodes };
}

describe.skipIf(!hasChromium)(`undo and redo in the grid in Chromium${skipReason}`, () => {
  it("take each kind of change back and forth, also a second time", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page, grid, complaints } = await openWords(server, browser, 2);
    const states = [await stored(server)];
    const wasStored = async () => void states.push(await stored(server));
    await grid.focus();
    await page.keyboard.type("edited");
    await page.keyboard.press("Enter");
    await expect.poll(() => stored(server)).not.toEqual(states[0]);
    await wasStored();
    await pasteInto(page, "p2\tm2\np3\tm3\np4\tm4\n");
    await page.getByText("1 row changed, 2 rows added.").waitFor();
    await wasStored();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("3 rows", { exact: true }).waitFor();
    await wasStored();
    await page.getByRole("button", { name: "Add row" }).click();
    await page.getByRole("dialog").getByLabel("word").fill("new");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("4 rows", { exact: true }).waitFor();
    await wasStored();
    await page.getByRole("button", { name: "Columns…" }).click();
    await page.getByLabel("Column 1", { exact: true }).fill("term");
    await page.getByRole("button", { name: "Save" }).click();
    await grid.getByText("term", { exact: true }).waitFor();
    await wasStored();
    for (let round = 0; round < 2; round++) {
      for (const state of states.slice(0, -1).toReversed()) {
        await page.keyboard.press("Control+z");
        await expect.poll(() => stored(server)).toEqual(state);
      }
      for (const state of states.slice(1)) {
        await page.keyboard.press(round === 0 ? "Control+Shift+z" : "Control+y");
        await expect.poll(() => stored(server)).toEqual(state);
      }
    }
    await page.keyboard.press("Control+y");
    await page.getByText("There is nothing to redo").waitFor();
    await grid.getByText("edited", { exact: true }).waitFor();
    await page.keyboard.press("Control+z");
    await expect.poll(() => stored(server)).toEqual(states.at(-2));
    await grid.getByText("word", { exact: true }).waitFor(); // a text typed before is kept beside the grid
    await grid.focus();
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("other");
    await page.keyboard.press("Enter");
    await grid.getByText("other", { exact: true }).waitFor();
    await page.getByText("There is nothing to redo").waitFor({ state: "detached" });
    const saysNothingToRedo = async () => {
      // More than once, as it does nothing while the change before is stored.
      for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Control+y");
      return page.getByText("There is nothing to redo").isVisible(); // fails where two say so
    };
    await expect.poll(saysNothingToRedo).toBe(true); // what was undone before another change
    await grid.getByText("word", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });
});
