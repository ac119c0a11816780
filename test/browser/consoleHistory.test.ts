import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

describe.skipIf(!hasChromium)(`the history of the console in Chromium${skipReason}`, () => {
  it("shows a list with its filters where it was scrolled to when one goes back to it", async () => {
    await using server = await startServer({ console: true });
    await addLogs(server, 50, (at) => ({
      startTime: new Date(Date.now() - (at + 1) * 60_000),
      ...{ model: "o3", output: `answer ${at}`, costSource: "REPORTED", cost: 0.1 },
    }));
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/logs?model=o3`);
    const late = page.getByText("answer 40", { exact: true });
    await late.scrollIntoViewIfNeeded();
    const scrolled = () => page.evaluate(() => Math.round(globalThis.scrollY));
    const before = await scrolled();
    expect(before).toBeGreaterThan(500);
    await late.click();
    await page.getByRole("heading", { name: "Output" }).waitFor();
    await page.goBack();
    await late.waitFor();
    await expect.poll(scrolled).toBe(before);
    expect(new URL(page.url()).search).toBe("?model=o3");
    expect(complaints).toEqual([]);
  });
});
