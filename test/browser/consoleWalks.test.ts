import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSignInLink } from "../../src/console/links.resolvers.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { collectComplaints } from "../support/console.ts";
import { addDataset, addToken } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";
import { type SpanOfTest, sendTrace } from "../support/traceSpans.ts";

/** How a reader does what a walk asks for. */
interface Hands {
  press: (target: Locator) => Promise<void>;
  write: (field: Locator, text: string) => Promise<void>;
  /** Goes to the end of a list that scrolls, and selects its last row. */
  selectLast: (list: Locator, row: Locator) => Promise<void>;
}

const mouse = (page: Page): Hands => ({
  press: (target) => target.click(),
  write: (field, text) => field.fill(text),
  selectLast: async (list, row) => {
    await list.hover();
    await page.mouse.wheel(0, 1_000_000);
    await row.click();
  },
});

const MAX_TABS = 120;

/** No click and no focus by the program: Tab alone leads to what is pressed, and shows that it is there. */
const keyboard = (page: Page): Hands => {
  const reach = async (target: Locator) => {
    await target.waitFor();
    const hasFocus = () => target.evaluate((element) => element === element.ownerDocument.activeElement);
    for (let n = 0; n < MAX_TABS && !(await hasFocus()); n += 1) await page.keyboard.press("Tab");
    expect([String(target), await hasFocus()]).toEqual([String(target), true]);
    expect(await target.evaluate((element) => element.matches(":focus-visible"))).toBe(true);
  };
  return {
    press: async (target) => {
      await reach(target);
      await page.keyboard.press("Enter");
    },
    write: async (field, text) => {
      await reach(field);
      await page.keyboard.press("Control+a");
      await page.keyboard.type(text);
    },
    selectLast: async (list, row) => {
      await reach(list);
      await page.keyboard.press("End");
      await row.waitFor();
    },
  };
};

const STEPS = 10_000;
const CSV = ["question,facts:json", "What?,not JSON", "Which?,1", "a,1,too many", '"open" end,1'].join("\n");

describe.skipIf(!hasChromium)(`each walk in Chromium${skipReason}`, () => {
  let server: Server;
  let browser: Browser;
  let file: string;

  beforeAll(async () => {
    server = await startServer({ console: true, sample: true });
    browser = await openBrowser();
    const columns = [
      { name: "question", type: "text" as const },
      { name: "facts", type: "json" as const },
    ];
    await addDataset(server, { slug: "walked", columns });
    for (const output of ["The zip is broken.", "The tent is fine."])
      await server.post("/monitor/log", { slug: "country-guide", input: "a question", output });
    const spans = Array.from({ length: STEPS }, (_, n): SpanOfTest => {
      const step = { id: n + 1, name: `step ${n + 1}`, startMs: n, durationMs: STEPS - n };
      return n === 0 ? step : { ...step, parent: n < 1_000 ? n : 1_000 };
    });
    await sendTrace(server, { trace: 0xa1, at: new Date(), spans });
    file = join(server.folder, "walked.csv");
    await writeFile(file, CSV);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** Opens the console by a link of a token of its own. */
  async function firstSignIn(page: Page): Promise<void> {
    const { token } = await addToken(server, { scopes: ["read", "write", "publish", "admin"] });
    await page.goto(`${server.url}/console/start#${await createSignInLink(server.database, token)}`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  }

  it.each([
    ["the mouse", mouse],
    ["the keyboard alone", keyboard],
  ])("is done by %s, without a message of the console or a request to elsewhere", async (_, handsOf) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const complaints = collectComplaints(page);
    const origins = new Set<string>();
    context.on("request", (request) => origins.add(new URL(request.url()).origin));
    const { press, write, selectLast } = handsOf(page);
    const link = (name: string) => page.getByRole("link", { name, exact: true });
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    await firstSignIn(page);

    // Makes a version, sees the diff.
    await press(link("Prompts"));
    await press(page.getByRole("link", { name: "Country guide" }));
    await press(link("New version"));
    const version = await page.getByLabel("Version", { exact: true }).inputValue();
    await write(page.getByLabel("System text"), "You are a poet. Answer in one sentence.");
    await press(button("Create version"));
    const comparison = page.getByRole("table", { name: `Version 1.1.0 beside ${version}` });
    await comparison.waitFor();
    expect(await comparison.locator("ins").allInnerTexts()).toContain("poet");

    // Publishes it, and rolls it back.
    const served = '{ servedPrompt(slug: "country-guide") { version } }';
    await press(button("Publish…"));
    await press(button("Publish"));
    await page.getByText(`production points to ${version}`).waitFor();
    expect(await server.run(served)).toEqual({ version });
    await press(link("Tags and history"));
    const row = page.getByRole("region", { name: "Tags" }).getByRole("row", { name: /production/ });
    await press(row.getByRole("button", { name: "Roll back" }));
    const question = page.getByRole("dialog", { name: `production: ${version} → 1.1.0?` });
    await press(question.getByRole("button", { name: "Roll back" }));
    await page.getByText("production points to 1.1.0 again").waitFor();
    expect(await server.run(served)).toEqual({ version: "1.1.0" });

    // Imports a CSV with three bad rows.
    await press(link("Datasets"));
    await press(page.getByRole("link", { name: "walked" }));
    const choosing = page.waitForEvent("filechooser");
    await press(button("Import file…"));
    await (await choosing).setFiles(file);
    await page.getByText("1 row stored, 3 rows refused.").waitFor();
    await press(button("Close the report"));

    // Finds a log by words.
    await press(link("Logs"));
    await write(page.getByRole("searchbox"), "broken zip");
    const logs = page.getByRole("region", { name: "Logs", exact: true });
    await press(logs.getByRole("row").filter({ hasText: "The zip is broken." }).getByRole("link"));
    await page.getByRole("region", { name: "Output" }).getByText("The zip is broken.").waitFor();

    // Opens a trace of 10,000 spans.
    await press(link("Traces"));
    await press(page.getByRole("link", { name: "step 1", exact: true }));
    const tree = page.getByRole("treegrid", { name: "Steps" });
    await expect.poll(() => tree.getAttribute("aria-rowcount"), { timeout: 30_000 }).toBe(`${STEPS + 1}`);
    await selectLast(tree, tree.getByText(`step ${STEPS}`, { exact: true }));
    await page.getByRole("heading", { name: `step ${STEPS}` }).waitFor();
    expect(await tree.getByRole("row").count()).toBeLessThan(80);
    await press(button("Collapse all"));
    await expect.poll(() => tree.getByRole("row").count()).toBe(2);

    expect(complaints).toEqual([]);

    // Revokes the own token, and is out. The browser itself says that requests on their way are refused.
    await press(link("Tokens"));
    const own = page.getByRole("row", { name: /this session/ });
    await press(own.getByRole("button", { name: "Revoke" }));
    await press(page.getByRole("dialog").getByRole("button", { name: "Revoke" }));
    await page.waitForURL(/sign-in/);
    expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
    expect([...origins].filter((origin) => origin !== "null")).toEqual([server.url]);
  });
});
