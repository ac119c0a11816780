import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const DAY_MS = 86_400_000;
const INPUT_TOKENS = 1_000_000;

/** Calls of one model: of now, of 20 days ago, and one whose caller said what it cost. */
const calls = [
  { daysAgo: 0, costSource: "COMPUTED" },
  { daysAgo: 20, costSource: "COMPUTED" },
  { daysAgo: 0, costSource: "REPORTED" },
] as const;

describe.skipIf(!hasChromium)(`prices in the console in Chromium${skipReason}`, () => {
  it("give past logs a new cost once they change, after a preview that stores nothing", async () => {
    await using server = await startServer({ console: true });
    const { ids } = await addLogs(server, calls.length, (at) => {
      const { daysAgo, costSource } = calls[at]!;
      const startTime = new Date(Date.now() - daysAgo * DAY_MS);
      return {
        startTime,
        model: "house-model",
        inputTokens: INPUT_TOKENS,
        outputTokens: 0,
        cost: 1,
        costSource,
      };
    });
    const costs = () =>
      Promise.all(ids.map(async (id) => (await server.run(`{ log(id: "${id}") { cost } }`)).cost));
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prices`);
    await page.getByRole("button", { name: "Set a price" }).first().click();
    await page.getByLabel("Model").fill("house-model");
    await page.getByLabel("Dollars per million tokens of input").fill("3");
    await page.getByLabel("Dollars per million tokens of output").fill("0");
    await page.getByRole("button", { name: "Set", exact: true }).click();
    await page.getByRole("region", { name: "Prices" }).getByText("house-model").waitFor();

    await page.getByRole("button", { name: "Reprice logs…" }).click();
    const dialog = page.getByRole("dialog", { name: "Reprice logs" });
    const preview = dialog.getByRole("button", { name: "See what would change" });
    await preview.click();
    await dialog.getByRole("button", { name: "Reprice 2 logs" }).waitFor();
    await dialog.getByLabel("Period").selectOption("7"); // its preview is another
    await preview.click();
    const store = dialog.getByRole("button", { name: "Reprice 1 log", exact: true });
    await store.waitFor();
    expect(await costs()).toEqual([1, 1, 1]);
    await store.click();
    await dialog.getByRole("button", { name: "Done" }).waitFor();
    const facts = (await dialog.locator("dl").innerText()).replaceAll(/\s+/g, " ");
    expect(facts).toMatch(/Changed 1 .*Cost before \$1\.00 Cost after \$3\.00/);
    expect(await costs()).toEqual([3, 1, 1]);
    expect(complaints).toEqual([]);
  });
});
