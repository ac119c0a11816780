import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";

const axe = await readFile(
  new URL("../../console/node_modules/axe-core/axe.min.js", import.meta.url),
  "utf8",
);

interface AxeReport {
  violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
}

const standards = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What axe finds on a page by all rules, or by one. The page must let it run: `bypassCSP`. */
export async function violationsIn(page: Page, rule?: string): Promise<string[]> {
  await page.evaluate(axe);
  const runOnly = JSON.stringify(rule ? [rule] : standards);
  const report = await page.evaluate<AxeReport>(`axe.run({ runOnly: ${runOnly} })`);
  return report.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** How many pixels a screen is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
