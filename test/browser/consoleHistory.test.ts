import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { type Server, startServer } from "../support/server.ts";
import { type SpanOfTest, sendTrace } from "../support/traceSpans.ts";

const ROWS = 3_000;
const STEPS = 3_000;
const LONG = { timeout: 20_000 };

const lists = ["logs", "dataset", "trace"] as const;

async function fill(server: Server): Promise<void> {
  await addLogs(server, 50, (at) => ({
    startTime: new Date(Date.now() - (at + 1) * 60_000),
    ...{ model: "o3", output: `answer ${at}`, costSource: "REPORTED", cost: 0.1 },
  }));
  const rows = Array.from({ length: ROWS }, (_, n) => ({ values: { word: `w${n + 1}` } }));
  await addDataset(server, { slug: "words", columns: [{ name: "word", type: "text" }], rows });
  const spans = Array.from({ length: STEPS }, (_, n): SpanOfTest => {
    const step = { id: n + 1, name: `step ${n + 1}`, startMs: n, durationMs: 1 };
    return n === 0 ? { ...step, durationMs: STEPS } : { ...step, parent: 1 };
  });
  await sendTrace(server, { trace: 1, at: new Date(), spans });
}

/** Opens a list, and gives what scrolls and its last row. */
async function open(page: Page, server: Server, list: (typeof lists)[number]) {
  const go = (path: string) => page.goto(`${server.url}/console${path}`);
  if (list === "logs") {
    await go("/logs?model=o3");
    return { frame: page.locator("html"), last: page.getByText("answer 49", { exact: true }) };
  }
  const path = list === "dataset" ? "/datasets/words" : `/traces/${"1".padStart(32, "0")}`;
  await go(path);
  const frame = page.getByRole(list === "dataset" ? "grid" : "treegrid");
  const last = frame.getByText(list === "dataset" ? `w${ROWS}` : `step ${STEPS}`, { exact: true });
  return { frame, last };
}

const scrolledTo = (frame: Locator): Promise<number> =>
  frame.evaluate(({ scrollTop }: { scrollTop: number }) => Math.round(scrollTop));

/** Turns the wheel over a list to its end, and a little up again. */
async function scrollFar(page: Page, frame: Locator, last: Locator): Promise<void> {
  await frame.hover();
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, 60_000);
      return (await last.isVisible()) && scrolledTo(frame);
    }, LONG)
    .toBeGreaterThan(1_000);
  const end = await scrolledTo(frame);
  await page.mouse.wheel(0, -600);
  await expect.poll(() => scrolledTo(frame)).toBe(end - 600);
}

/** What of a list comes again: how far it is scrolled, and what is selected in it. */
async function placeIn(frame: Locator) {
  const selected = await frame.locator('[aria-selected="true"]').allInnerTexts();
  return { scrolled: await scrolledTo(frame), selected };
}

describe.skipIf(!hasChromium)(`the history of the console in Chromium${skipReason}`, () => {
  it("shows long lists where they were left, after a reload, when one goes back, and from a copied address", async () => {
    await using server = await startServer({ console: true });
    await fill(server);
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const { page, complaints } = await openConsole(server, context);
    const colleague = await context.newPage();
    for (const list of lists) {
      const { frame, last } = await open(page, server, list);
      await scrollFar(page, frame, last);
      if (list !== "logs") {
        await frame.click();
        await expect.poll(() => new URL(page.url()).search).toMatch(/cell|step/);
      }
      const before = await placeIn(frame);
      const address = page.url();
      await page.reload();
      await expect.poll(() => placeIn(frame), LONG).toEqual(before);
      await page.getByRole("link", { name: "Audit log" }).click();
      await page.getByRole("heading", { name: "Audit log" }).waitFor();
      await page.goBack();
      await expect.poll(() => placeIn(frame), LONG).toEqual(before);
      expect(page.url()).toBe(address);

      await colleague.goto(address);
      const selected = colleague.locator('main [aria-selected="true"]');
      if (list === "logs") await colleague.getByText("answer 49", { exact: true }).waitFor();
      else await expect.poll(() => selected.allInnerTexts(), LONG).toEqual(before.selected);
      for (const one of await selected.all()) expect(await one.boundingBox()).toBeTruthy();
    }
    expect(complaints).toEqual([]);
  });
});
