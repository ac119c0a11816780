import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { overflowOf, violationsIn } from "../support/axe.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

/** What every screen must show before it is looked at, by its address. */
const screens: [path: string, shown: string][] = [
  ["/overview", "Cost by day"],
  ["/prompts", "Country guide"],
  ["/prompts?dialog=new", "New prompt"],
  ["/prompts/country-guide", "What the model gets"],
  ["/prompts/country-guide?view=compare", "Compare from"],
  ["/prompts/country-guide?view=impact&version=2.0.0", "No log has variables"],
  ["/prompts/country-guide?view=tags", "History"],
  ["/prompts/country-guide?view=edit", "Create version"],
  ["/prompts/country-guide?dialog=publish", "Publish 1.1.0"],
  ["/datasets", "Country quiz"],
  ["/datasets/country-quiz", "Which country has this flag?"],
  ["/datasets/country-quiz?dialog=add", "Ideal output"],
  ["/datasets/country-quiz?dialog=columns", "Column 1"],
  ["/datasets/country-quiz?dialog=export", "Save the file"],
  ["/datasets/empty", "No rows yet"],
  ["/logs", "The answer."],
  ["/logs?q=nothing&version=1&user=u1", "No log fits"],
  ["/traces", "Latest first"],
  ["/traces?q=nothing", "No trace fits"],
  ["/usage", "Tokens in"],
  ["/usage?by=prompt", "country-guide"],
  ["/prices", "No prices of your own"],
  ["/prices?dialog=new", "Provider"],
  ["/tokens", "this session"],
  ["/tokens?dialog=new", "Days until it ends"],
  ["/audit", "Nothing was changed yet"],
  ["/settings", "Nothing was rejected"],
];

/** Nothing but colours differs in the dark. */
const schemes = [
  ["light", undefined],
  ["dark", "color-contrast"],
] as const;

describe.skipIf(!hasChromium)(`axe in Chromium${skipReason}`, () => {
  it.for([1400, 390])(
    "finds nothing on any screen at %d pixels, light and dark",
    { timeout: 120_000 },
    async (width) => {
      await using server = await startServer({ console: true, sample: true });
      await server.post("/monitor/log", {
        slug: "country-guide",
        input: "A question?",
        output: "The answer.",
      });
      await addDataset(server, { slug: "empty", columns: [{ name: "question", type: "text" }] });
      await using browser = await openBrowser();
      const page = await browser.newPage({
        viewport: { width, height: 900 },
        bypassCSP: true, // for axe alone, which the page would not run
      });
      const found: Record<string, string[]> = {};
      const look = async (path: string) => {
        for (const [colorScheme, rule] of schemes) {
          await page.emulateMedia({ colorScheme });
          await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
          found[`${path}, ${colorScheme}`] = await violationsIn(page, rule);
        }
      };
      await page.goto(`${server.url}/console/sign-in`);
      await page.getByLabel("Access token").waitFor();
      await look("/sign-in");
      await signIn(page, server);
      for (const [path, shown] of screens) {
        await page.goto(`${server.url}/console${path}`);
        await page.getByText(shown).or(page.getByLabel(shown)).first().waitFor({ state: "attached" });
        await look(path);
        expect([path, await overflowOf(page)]).toEqual([path, 0]);
      }
      const expected = Object.fromEntries(Object.keys(found).map((path) => [path, []]));
      expect(found).toEqual(expected);
    },
  );
});

async function signIn(page: Page, { token }: Server): Promise<void> {
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}
