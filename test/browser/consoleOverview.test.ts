import { expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { startServer } from "../support/server.ts";
import { sendTrace } from "../support/traceSpans.ts";

it.skipIf(!hasChromium)(
  `the overview says how many calls failed, and that something was not taken${skipReason}`,
  async () => {
    await using server = await startServer({ console: true });
    const attributes = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini" };
    const call = { name: "chat", startMs: 0, durationMs: 10, attributes };
    const spans = [
      { ...call, id: 1, error: "429: too many requests" },
      { ...call, id: 2, parent: 1 },
    ];
    await sendTrace(server, { trace: 1, at: new Date(), spans });
    await server.post("/monitor/log", { slug: 5 });
    await expect.poll(() => server.run("{ rejectedItems { nodes { id } } }")).toHaveLength(1);
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    const figures = page.locator("dl");
    await expect.poll(() => figures.innerText()).toMatch(/Calls\s+2[\s\S]*Errors\s+1/);
    await page.getByText("Clients sent 1 item in the last 7 days that Gabbro did not take.").waitFor();
    await page.getByRole("link", { name: "See what, and why" }).click();
    await page.getByRole("region", { name: "Rejected items" }).waitFor();
    expect(complaints).toEqual([]);
  },
);

it.skipIf(!hasChromium)(
  `the overview leads to the calls of a prompt that it counts, and to no earlier ones${skipReason}`,
  async () => {
    await using server = await startServer({ console: true });
    const monthAgo = Date.now() - 30 * 24 * 3_600_000;
    await server.post("/monitor/log", { slug: "greet", output: "said long ago", startTime: monthAgo });
    await server.post("/monitor/log", { slug: "greet", output: "said today" });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.getByRole("link", { name: "greet", exact: true }).click();
    await page.getByText("said today").first().waitFor();
    expect(await page.getByText("said long ago").count()).toBe(0);
    expect(complaints).toEqual([]);
  },
);
