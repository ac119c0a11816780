import { describe, expect, it } from "vitest";
import { examples } from "../../src/graphiql/examples.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { startServer } from "../support/server.ts";

describe.skipIf(!hasChromium)(`in Chromium${skipReason}`, () => {
  it("one browser signs another one out, which then has to sign in again", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const other = await openConsole(server, await browser.newContext());
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/tokens`);
    const rows = page.getByRole("region", { name: "Signed-in browsers" }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.first().innerText()).toContain("this browser"); // it was signed in last
    await rows.last().getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByText("The browser is signed out").waitFor();
    await expect.poll(() => rows.count()).toBe(1);
    await expect
      .poll(async () => {
        await other.page.goto(`${server.url}/console/prompts`);
        return other.page.getByRole("button", { name: "Sign in" }).isVisible();
      })
      .toBe(true);
    expect(complaints).toEqual([]);
  });

  it("the queries of a screen open in GraphiQL, where the session of the console counts", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const { page, complaints } = await openConsole(server, context);
    await page.goto(`${server.url}/console/datasets`);
    await page.getByText("Country quiz").waitFor();
    const opening = context.waitForEvent("page");
    await page.getByRole("button", { name: "Open the queries of this screen in GraphiQL" }).click();
    const graphiql = await opening;
    await graphiql.getByRole("tab", { name: "Datasets", selected: true }).waitFor();
    expect(await graphiql.getByLabel("Access token").inputValue()).toBe("");
    expect(new URL(graphiql.url()).hash).toBe("");
    await graphiql.getByRole("button", { name: /Execute query/ }).click();
    await expect.poll(() => graphiql.locator(".result-window").textContent()).toMatch(/country-quiz/);
    await graphiql.reload(); // opens no tab twice
    await graphiql.getByRole("button", { name: /Execute query/ }).waitFor();
    await expect.poll(() => graphiql.getByRole("tab", { name: "Datasets" }).count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it.for([
    "no-json",
    "[1]",
    JSON.stringify([{ query: 'mutation { deletePrompt(slug: "a") { __typename } }', variables: "{}" }]),
  ])("an address of GraphiQL that ends with #%s opens the page, and nothing of it", async (fragment) => {
    await using server = await startServer();
    await using browser = await openBrowser();
    const page = await browser.newPage();
    await page.goto(`${server.url}/graphql#${encodeURIComponent(fragment)}`);
    await page.getByRole("tab", { name: "ReadDataset" }).waitFor();
    expect(await page.getByRole("tab").count()).toBe(examples.length);
    expect(new URL(page.url()).hash).toBe("");
  });
});
