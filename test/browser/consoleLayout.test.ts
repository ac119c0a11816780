import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

/** On how many lines a text stands. */
const linesOf = (part: Locator): Promise<number> =>
  part.evaluate((element) => {
    const range = element.ownerDocument.createRange();
    range.selectNodeContents(element);
    return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom))).size;
  });

const overflowOf = (part: Locator): Promise<number> =>
  part.evaluate((element) => element.scrollWidth - element.clientWidth);

/** How far things moved by themselves since the page opened, in thousandths, as browsers measure it. */
const shiftOf = (page: Page): Promise<number> =>
  page.evaluate(
    `new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) sum += value;
      }).observe({ type: "layout-shift", buffered: true });
      requestAnimationFrame(() => setTimeout(() => resolve(Math.round(1_000 * sum)), 100));
    })`,
  );

describe.skipIf(!hasChromium)(`the layout of the console in Chromium${skipReason}`, () => {
  it("puts filters in two columns of one width on narrow screens, and breaks no word or table", async () => {
    await using server = await startServer({ console: true, sample: true });
    await server.run('mutation { createDataset(input: { slug: "birds", columns: [] }) { dataset { id } } }');
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const { page, complaints } = await openConsole(server, context);
    for (const screen of ["logs", "traces", "usage"]) {
      await page.goto(`${server.url}/console/${screen}`);
      await page.getByRole("combobox").first().waitFor();
      const fields = await page.locator("main").locator("select, input[type=date]").all();
      const boxes = await Promise.all(fields.map(async (field) => (await field.boundingBox())!));
      expect([screen, new Set(boxes.map(({ width }) => Math.round(width))).size]).toEqual([screen, 1]);
      expect([screen, boxes[0]?.y]).toEqual([screen, boxes[1]?.y]);
    }
    await page.goto(`${server.url}/console/audit`);
    expect(await linesOf(page.getByText("createDataset", { exact: true }))).toBe(1);
    await page.goto(`${server.url}/console/prompts/country-guide?view=tags`);
    await page.getByRole("columnheader", { name: "To" }).waitFor();
    expect(await overflowOf(page.getByRole("region", { name: "History" }))).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("shows the session of a trace on one line, what messages say, and whole numbers of errors", async () => {
    await using server = await startServer({ console: true });
    await addLogs(server, 3, () => ({
      startTime: new Date(Date.now() - 60_000),
      ...{ status: "error", costSource: "REPORTED", cost: 0.1 },
      output: [{ role: "assistant", parts: [{ type: "text", content: "It is Nairobi." }] }],
    }));
    await server.database.orm.em.fork().execute("update traces set session_id = 'a-session-of-dana-33'");
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    const { page } = await openConsole(server, context);
    await page.getByText("Errors by day").waitFor();
    const lines = page.getByRole("group", { name: "Errors by day" }).locator("g text");
    expect(await lines.allTextContents()).toEqual(["0", "3"]);
    await page.goto(`${server.url}/console/traces`);
    expect(await linesOf(page.getByText("a-session-of-dana-33").first())).toBe(1);
    await page.goto(`${server.url}/console/logs`);
    await page.getByText("It is Nairobi.", { exact: true }).first().waitFor();
  });

  it("moves nothing that shows when an answer comes later than the others", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const { page } = await openConsole(server, context);
    const held = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      if (route.request().postData()?.includes("query UsageOfVersions")) await held.promise;
      await route.continue();
    });
    await page.goto(`${server.url}/console/prompts/country-guide`);
    await page.getByRole("region", { name: "Try it" }).getByText("Country:").waitFor();
    held.resolve();
    await page.getByRole("region", { name: "The last 30 days" }).getByRole("link", { name: "0" }).waitFor();
    expect(await shiftOf(page)).toBe(0);
  });
});
