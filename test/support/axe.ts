import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";

const axe = await readFile(
  new URL("../../console/node_modules/axe-core/axe.min.js", import.meta.url),
  "utf8",
);

interface AxeReport {
  violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** What axe finds on a page, which must let it run: `bypassCSP`. */
export async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const report = await page.evaluate<AxeReport>(
    "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })",
  );
  return report.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** How many pixels a screen is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
