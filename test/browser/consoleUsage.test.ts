import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const DAY_MS = 86_400_000;

/** So many days before another, in the time zone of the machine. */
function dayBefore(day: Date, days: number): string {
  const date = new Date(day);
  date.setDate(date.getDate() - days);
  const pad = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

describe.skipIf(!hasChromium)(`usage in the console in Chromium${skipReason}`, () => {
  it("narrows to the days over which its chart is dragged, and saves the table", async () => {
    await using server = await startServer({ console: true, sample: true });
    await server.post("/monitor/log", { slug: "=1+1", output: "now", cost: 0.125 });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    const today = new Date();
    await page.clock.setFixedTime(today); // it may be midnight meanwhile
    await page.goto(`${server.url}/console/usage?measure=calls&period=7`);
    const bars = page.getByRole("group", { name: "Calls by day" }).getByRole("link");
    await expect.poll(() => bars.count()).toBe(7);
    const middleOf = async (n: number) => {
      const { x, y, width, height } = (await bars.nth(n).boundingBox())!;
      return [x + width / 2, y + height / 2] as const;
    };
    await page.mouse.move(...(await middleOf(6)));
    await page.mouse.down();
    await page.mouse.move(...(await middleOf(5)));
    await page.mouse.move(...(await middleOf(4)));
    await page.mouse.up();
    await expect.poll(() => bars.count()).toBe(3);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get("from"), searchParams.get("to")]).toEqual([
      dayBefore(today, 2),
      dayBefore(today, 0),
    ]);
    await page.getByLabel("From").fill(dayBefore(today, 1)); // the same without a mouse
    await expect.poll(() => bars.count()).toBe(2);
    await page.getByLabel("Group").selectOption("prompt");
    await page.getByRole("region", { name: "Usage" }).getByText("=1+1").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as CSV" }).click();
    const text = await readFile(await (await download).path(), "utf8");
    expect(text).toMatch(/^prompt,logs,unpricedLogs,failedLogs,cost,.*\n/);
    expect(text).toContain("\n'=1+1,1,0,0,0.125,");
    await page.goBack();
    await expect.poll(() => new URL(page.url()).searchParams.get("from")).toBeNull();
    await expect.poll(() => bars.count()).toBe(7);
    await page.mouse.move(...(await middleOf(3)));
    await page.mouse.down();
    await page.mouse.move(...(await middleOf(4)));
    await page.mouse.move(...(await middleOf(3)));
    await page.mouse.up(); // on the link where it began, which is no click
    await expect.poll(() => new URL(page.url()).searchParams.get("to")).toBe(dayBefore(today, 3));
    expect(new URL(page.url()).pathname).toBe("/console/usage");
    await page.goBack();
    await expect.poll(() => bars.count()).toBe(7);
    await page.mouse.move(...(await middleOf(6)));
    await page.mouse.down();
    const [clientX, clientY] = await middleOf(4);
    await bars.nth(6).evaluate(
      (bar, place) => {
        const init = { ...place, bubbles: true, pointerId: 1 };
        bar.dispatchEvent(new PointerEvent("pointermove", { ...init, buttons: 1 }));
        bar.dispatchEvent(new PointerEvent("pointerup", init)); // before the move is drawn
      },
      { clientX, clientY },
    );
    await expect.poll(() => bars.count()).toBe(3);
    await page.mouse.up();
    await page.goBack();
    await expect.poll(() => bars.count()).toBe(7);
    await bars.nth(6).click();
    await page.getByRole("heading", { name: "Logs" }).waitFor(); // a click leads to the day as before
    expect(complaints).toEqual([]);
  });

  it("shows all days of a long period, no latency where none is known, and the logs that a group counts", async () => {
    await using server = await startServer({ console: true });
    const today = new Date();
    await addLogs(server, 4, (at) => ({
      startTime: at === 3 ? new Date(today.getTime() - 250 * DAY_MS) : today,
      promptSlug: at === 0 ? "theirs" : "ours",
      ...{ model: "o3", output: `answer ${at}`, costSource: "REPORTED", cost: 0.1, latencyMs: null },
    }));
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.clock.setFixedTime(today);
    const rows = page.getByRole("region", { name: "Usage" }).locator("tbody tr");
    const answers = () => page.getByText(/^answer/).allInnerTexts();
    const days = `from=${dayBefore(today, 300)}&to=${dayBefore(today, 0)}`;
    await page.goto(`${server.url}/console/usage?by=day&measure=latency&slug=ours&${days}`);
    await expect.poll(() => rows.count()).toBe(301);
    expect(await rows.first().innerText()).toMatch(/\t–\s*\t2\t/);
    await rows.first().getByRole("link").click();
    await expect.poll(async () => (await answers()).toSorted()).toEqual(["answer 1", "answer 2"]);
    await page.goBack();
    await page
      .getByRole("group", { name: "Latency, 95 % by day" })
      .getByRole("link", { name: /: –$/ })
      .last()
      .click();
    await expect.poll(async () => (await answers()).toSorted()).toEqual(["answer 1", "answer 2"]);
    await page.goto(`${server.url}/console/usage?by=model&period=7`);
    await rows.getByRole("link", { name: "o3" }).click();
    await expect.poll(async () => (await answers()).toSorted()).toEqual(["answer 0", "answer 1", "answer 2"]);
    await page.getByLabel("Period").selectOption("");
    await expect.poll(async () => (await answers()).length).toBe(4);
    expect(complaints).toEqual([]);
  });
});
