import { describe, expect, it } from "vitest";
import { overflowOf, violationsIn } from "../support/axe.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { startServer } from "../support/server.ts";
import { agentSpans, sendTrace } from "../support/traceSpans.ts";

const HOSTILE = '<img src=x onerror="document.title=1">Nairobi';
const looks = [
  { colorScheme: "light", width: 1400 },
  { colorScheme: "dark", width: 1400 },
  { colorScheme: "light", width: 390 },
  { colorScheme: "dark", width: 390 },
] as const;

/** Noon of yesterday, in the zone of the browser. */
function yesterdayNoon(): Date {
  const date = new Date();
  date.setDate(date.getDate() - 1);
  date.setHours(12, 0, 0, 0);
  return date;
}

describe.skipIf(!hasChromium)(`traces in Chromium${skipReason}`, { timeout: 60_000 }, () => {
  it("leads to yesterday's most expensive trace, its model call, and the output of it", async () => {
    await using server = await startServer({ console: true });
    const at = yesterdayNoon();
    const cheap = { id: 1, name: "a cheap one", startMs: 60_000, durationMs: 10 };
    await sendTrace(server, { trace: 1, at, spans: agentSpans(HOSTILE) });
    await sendTrace(server, { trace: 2, at, spans: [cheap] });
    await sendTrace(server, { trace: 3, at: new Date(), spans: [{ ...cheap, name: "of today" }] });
    await using browser = await openBrowser();
    const { page, complaints, origins } = await openConsole(server, await browser.newContext());
    await page.getByRole("link", { name: "Traces" }).click();
    const rows = page.getByRole("region", { name: "Traces" }).locator("tbody tr");
    await page.getByText("of today").waitFor();
    await page.getByLabel("Period").selectOption("Yesterday");
    await page.getByText("of today").waitFor({ state: "detached" });
    expect(await rows.first().innerText()).toContain("a cheap one");
    await page.getByLabel("Order").selectOption("cost");
    await expect.poll(() => rows.first().innerText()).toContain("plan a trip");
    const listed = page.url();
    await rows.first().click();
    const step = page.getByRole("row", { name: /chat gpt-4o-mini/ });
    await step.click();
    const detail = page.getByRole("region", { name: "Step", exact: true });
    await detail.getByRole("region", { name: "Output" }).getByText(HOSTILE).waitFor();
    await detail.getByText("120,000 in, 2,000 out").waitFor();
    await detail.getByText("from its tokens and the price at its time").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("step")).toBeTruthy();
    await page.reload();
    await detail.getByText(HOSTILE).waitFor();
    expect(await page.title()).toBe("plan a trip · Gabbro");
    await page.goBack();
    expect(page.url()).toBe(listed);
    expect(complaints).toEqual([]);
    expect(origins()).toEqual([server.url]);
  });

  it("is walked, collapsed and searched by keys, and goes to the next error", async () => {
    await using server = await startServer({ console: true });
    const id = await sendTrace(server, { trace: 1, at: yesterdayNoon(), spans: agentSpans("Nairobi") });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/traces/${id}`);
    const tree = page.getByRole("treegrid", { name: "Steps" });
    const selected = tree.locator('[aria-selected="true"]');
    await tree.getByText("book hotel").waitFor();
    await page.keyboard.press("e");
    await expect.poll(() => selected.innerText()).toContain("book hotel");
    await page.getByRole("region", { name: "Error" }).getByText("The hotel is full.").waitFor();
    await page.keyboard.press("k");
    await expect.poll(() => selected.innerText()).toContain("chat gpt-4o-mini");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => selected.innerText()).toContain("plan a trip");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => tree.getByText("search guides").count()).toBe(0);
    await page.keyboard.press("ArrowRight");
    await tree.getByText("search guides").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("hotel");
    await page.getByText("1 of 4 steps have “hotel”.").waitFor();
    expect(await tree.getByRole("row").count()).toBe(3);
    expect(complaints).toEqual([]);
  });

  it("keeps in its address what is collapsed", async () => {
    await using server = await startServer({ console: true });
    const id = await sendTrace(server, { trace: 1, at: yesterdayNoon(), spans: agentSpans("Nairobi") });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/traces/${id}`);
    const rows = page.getByRole("treegrid", { name: "Steps" }).getByRole("row");
    await rows.nth(3).waitFor();
    const count = await rows.count();
    const held = () => new URL(page.url()).searchParams.get("collapsed");
    await page.getByRole("button", { name: "Collapse plan a trip" }).click();
    await expect.poll(held).toMatch(/^[0-9a-f]{10}$/);
    await page.reload();
    await page.getByRole("button", { name: "Expand plan a trip" }).waitFor();
    expect(await rows.count()).toBeLessThan(3);
    await page.getByRole("button", { name: "Expand all" }).click();
    await expect.poll(held).toBeNull();
    expect(await rows.count()).toBe(count);
    expect(complaints).toEqual([]);
  });

  it("grows while the application goes on, keeps the selected step, and says what is missing", async () => {
    await using server = await startServer({ console: true });
    const at = new Date();
    const [agent, search, ...others] = agentSpans("Nairobi");
    const id = await sendTrace(server, { trace: 1, at, spans: [search!] });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/traces/${id}`);
    const tree = page.getByRole("treegrid", { name: "Steps" });
    await page.getByText("Spans are missing: 1 step names a parent that did not come.").waitFor();
    await tree.getByText("search guides").click();
    await expect.poll(() => server.database.pubSub.count()).toBe(1);
    await sendTrace(server, { trace: 1, at, spans: [agent!, ...others] });
    await tree.getByText("plan a trip").waitFor();
    await page.getByText("Spans are missing").waitFor({ state: "detached" });
    expect(await tree.locator('[aria-selected="true"]').innerText()).toContain("search guides");
    expect(await tree.getByRole("row").count()).toBe(5);
    expect(complaints).toEqual([]);
  });

  it("removes old traces once they are counted, and shows what was rejected as text", async () => {
    await using server = await startServer({ console: true });
    await sendTrace(server, { trace: 1, at: new Date("2026-01-01T12:00:00Z"), spans: agentSpans("old") });
    await sendTrace(server, { trace: 2, at: new Date(), spans: agentSpans("new") });
    await server.post("/monitor/log", { slug: 5, input: HOSTILE });
    await expect.poll(() => server.run("{ rejectedItems { nodes { id } } }")).toHaveLength(1);
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/settings`);
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("dialog").getByText(HOSTILE.slice(0, 9)).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Remove traces from before").fill("2026-06-01");
    await page.getByRole("button", { name: "Count them" }).click();
    await page.getByRole("button", { name: "Remove 1 trace…" }).click();
    expect(await server.run("{ traces { nodes { name } } }")).toHaveLength(2);
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("1 trace removed").waitFor();
    expect(await server.run("{ traces { nodes { name } } }")).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it.for(looks)("has nothing that axe finds, $colorScheme at $width pixels", async (look) => {
    await using server = await startServer({ console: true });
    const [agent, search, chat, hotel] = agentSpans("Nairobi");
    const spans = [agent!, search!, chat!, hotel!, { ...search!, id: 9, parent: 99, name: "an orphan" }];
    const id = await sendTrace(server, { trace: 1, at: yesterdayNoon(), spans });
    await server.post("/monitor/log", { slug: 5 });
    await expect.poll(() => server.run("{ rejectedItems { nodes { id } } }")).toHaveLength(1);
    await using browser = await openBrowser();
    const viewport = { width: look.width, height: 900 };
    const context = await browser.newContext({
      colorScheme: look.colorScheme,
      viewport,
      bypassCSP: true, // for axe alone, which the page would not run
    });
    const { page } = await openConsole(server, context);
    const found: unknown[] = [];
    const check = async (path: string, shown: string) => {
      await page.goto(`${server.url}/console${path}`);
      await page.getByText(shown).first().waitFor({ state: "attached" });
      found.push([path, await violationsIn(page), await overflowOf(page)]);
    };
    const clean = (path: string) => [path, [], 0];
    await check("/traces", "spans missing");
    await check(`/traces/${id}`, "Select a step");
    await page.keyboard.press("e");
    await page.getByText("The hotel is full.").waitFor();
    found.push(["selected", await violationsIn(page), await overflowOf(page)]);
    await check(`/traces/${id}?q=hotel`, "1 of 5 steps");
    await check("/settings", "Compare the sample");
    expect(found).toEqual(
      ["/traces", `/traces/${id}`, "selected", `/traces/${id}?q=hotel`, "/settings"].map(clean),
    );
  });
});
