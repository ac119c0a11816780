import { expect, it } from "vitest";
import { createSignInLink } from "../../src/console/links.resolvers.ts";
import { addSampleMonth } from "../../src/sample/month.ts";
import { contextWithoutToken, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { collectComplaints } from "../support/console.ts";
import { startServer } from "../support/server.ts";

it.skipIf(!hasChromium)(
  `a stranger finds the way from the first link to a published version, a costly trace and last month's costs${skipReason}`,
  async () => {
    await using server = await startServer({ console: true, sample: true });
    const workspaceId = await getWorkspaceId(server.database, "default");
    await addSampleMonth(contextWithoutToken(server.database, workspaceId, "sample"), Date.now());
    const code = await createSignInLink(server.database, server.token);
    await using browser = await openBrowser();
    const page = await browser.newPage({ timezoneId: "UTC" });
    const complaints = collectComplaints(page);

    // Follows the printed link.
    await page.goto(`${server.url}/console/start#${code}`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    // Makes a version of a prompt, sees its impact, publishes it.
    await page.getByRole("link", { name: "Prompts", exact: true }).click();
    await page.getByRole("link", { name: "Country guide" }).click();
    await page.getByRole("link", { name: "New version" }).click();
    const version = await page.getByLabel("Version", { exact: true }).inputValue();
    await page.getByLabel("System text").fill("You are a travel guide. Answer in two sentences.");
    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByRole("table", { name: new RegExp(`beside ${version}$`) }).waitFor();
    await page.getByRole("link", { name: "Impact" }).click();
    const impact = page.getByRole("region", { name: new RegExp(`rendered with ${version} instead of`) });
    await expect.poll(() => impact.innerText()).toMatch(/Would change\s+\d\d/);
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByText(`production points to ${version}`).waitFor();
    expect(await server.run('{ servedPrompt(slug: "country-guide") { version } }')).toEqual({ version });

    // Finds yesterday's most expensive trace.
    await page.getByRole("link", { name: "Traces" }).click();
    await page.getByLabel("Period").selectOption("Yesterday");
    await page.getByLabel("Order").selectOption({ index: 1 });
    const traces = page.getByRole("region", { name: "Traces" }).locator("tbody tr");
    const { name, cost } = await costliestOfYesterday(server);
    await expect.poll(() => traces.first().innerText()).toContain(cost);
    await traces.first().getByRole("link").click();
    await page.getByRole("heading", { name }).waitFor();

    // Puts one of its logs into a dataset.
    const steps = page.getByRole("treegrid", { name: "Steps" });
    await steps.getByRole("row", { name: /chat/ }).last().click();
    await page.getByRole("button", { name: "Add to dataset…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^Add/ }).click();
    await expect
      .poll(() => server.run('{ dataset(slug: "country-quiz") { rowCount } }'))
      .toEqual({ rowCount: 25 });

    // Reads last month's cost by model.
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByLabel("Group").selectOption("By model");
    const models = page.getByRole("region", { name: "Usage", exact: true }).locator("tbody tr");
    await expect.poll(() => models.count()).toBe(3);
    const texts = await models.allInnerTexts();
    expect(texts).toContainEqual(expect.stringMatching(/gpt-5-mini\s+\$0\.\d+/));
    const costs = texts.map((text) => Number(/\$([\d.]+)/.exec(text)![1]));
    expect(costs).toEqual(costs.toSorted((a, b) => b - a));
    expect(complaints).toEqual([]);
  },
  90_000,
);

/** By the public API, as it shows in the list. */
async function costliestOfYesterday(server: Awaited<ReturnType<typeof startServer>>) {
  const dayMs = 86_400_000;
  const from = new Date(Math.floor(Date.now() / dayMs) * dayMs - dayMs);
  const { body } = await server.graphql(
    "query($from: DateTime!, $to: DateTime!) { traces(first: 100, filter: { from: $from, to: $to }) { nodes { name cost } pageInfo { hasNextPage } } }",
    { from, to: new Date(from.getTime() + dayMs) },
  );
  const { nodes, pageInfo } = body.data.traces;
  expect(pageInfo.hasNextPage).toBe(false);
  const most = nodes.toSorted((a: { cost: number }, b: { cost: number }) => b.cost - a.cost)[0];
  return { name: most.name, cost: `$${most.cost.toPrecision(2)}` };
}
