import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { type Server, startServer } from "../support/server.ts";

const axe = await readFile(
  new URL("../../console/node_modules/axe-core/axe.min.js", import.meta.url),
  "utf8",
);

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
  ["/logs", "The answer."],
  ["/logs?q=nothing", "No log fits"],
  ["/usage", "Tokens in"],
  ["/usage?by=prompt", "country-guide"],
  ["/prices", "No prices of your own"],
  ["/prices?dialog=new", "Provider"],
  ["/tokens", "this session"],
  ["/tokens?dialog=new", "Days until it ends"],
  ["/audit", "Nothing was changed yet"],
];

const looks = [
  { colorScheme: "light", width: 1400 },
  { colorScheme: "dark", width: 1400 },
  { colorScheme: "light", width: 390 },
  { colorScheme: "dark", width: 390 },
] as const;

describe.skipIf(!hasChromium)(`axe in Chromium${skipReason}`, () => {
  it.for(looks)(
    "finds nothing on any screen, $colorScheme at $width pixels",
    { timeout: 120_000 },
    async (look) => {
      await using server = await startServer({ console: true, sample: true });
      await server.post("/monitor/log", {
        slug: "country-guide",
        input: "A question?",
        output: "The answer.",
      });
      await using browser = await openBrowser();
      const page = await browser.newPage({
        colorScheme: look.colorScheme,
        viewport: { width: look.width, height: 900 },
        bypassCSP: true, // for axe alone, which the page would not run
      });
      page.setDefaultTimeout(15_000);
      const found: Record<string, string[]> = {};
      await page.goto(`${server.url}/console/sign-in`);
      await page.getByLabel("Access token").waitFor();
      found["/sign-in"] = await violationsIn(page);
      await signIn(page, server);
      for (const [path, shown] of screens) {
        await page.goto(`${server.url}/console${path}`);
        await page.getByText(shown).or(page.getByLabel(shown)).first().waitFor({ state: "attached" });
        found[path] = await violationsIn(page);
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

interface AxeReport {
  violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
}

async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const report = await page.evaluate<AxeReport>(
    "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  );
  return report.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** How many pixels a screen is wider than its window. */
const overflowOf = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
