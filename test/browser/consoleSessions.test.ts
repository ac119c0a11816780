import { describe, expect, it } from "vitest";
import { examples } from "../../src/graphiql/examples.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset, addToken, addWorkspace } from "../support/data.ts";
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

  it("the list has every browser that is signed in, also more than a hundred", async () => {
    await using server = await startServer({ console: true });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    const { token } = await addToken(server);
    const headers = { host: new URL(server.url).host, origin: server.url };
    for (let n = 0; n < 100; n += 1)
      await server.post("/console/session", { token }, { token: null, headers });
    await page.goto(`${server.url}/console/tokens`);
    const rows = page.getByRole("region", { name: "Signed-in browsers" }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(101);
    expect(await rows.last().innerText()).toContain("this browser");
  });

  it("a token that may do nothing but administer makes one that may do the same", async () => {
    await using server = await startServer({ console: true });
    const { token } = await addToken(server, { scopes: ["admin"] });
    await using browser = await openBrowser();
    const { page } = await openConsole({ url: server.url, token }, await browser.newContext());
    await page.goto(`${server.url}/console/tokens?dialog=new`);
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("ci");
    await dialog.getByLabel(/^admin:/).check();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByText("It is shown only now.").waitFor();
    const tokens = await server.run("{ accessTokens(first: 9) { nodes { name scopes } } }");
    expect(tokens).toContainEqual({ name: "ci", scopes: ["ADMIN"] });
  });

  it("a page that shows one workspace changes nothing in another one, to which another tab has signed in", async () => {
    await using server = await startServer({ console: true, sample: true });
    const live = await addWorkspace(server, "live");
    for (const mutation of [
      'createPrompt(input: { slug: "country-guide", name: "Live" }) { prompt { id } }',
      'createPromptVersion(slug: "country-guide", input: { version: "1.0.0", text: "a" }) { promptVersion { id } }',
      'createPromptVersion(slug: "country-guide", input: { version: "1.1.0", text: "b" }) { promptVersion { id } }',
      'publishPrompt(slug: "country-guide", input: { newTag: "production", to: { version: "1.0.0" } }) { prompt { id } }',
    ])
      expect(await server.run(`mutation { ${mutation} }`, {}, live.token)).not.toHaveProperty("error");
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const { page } = await openConsole(server, context);
    await page.goto(`${server.url}/console/prompts/country-guide?version=1.1.0`);
    await page.getByRole("button", { name: "Publish…" }).waitFor();
    const second = await context.newPage();
    await second.goto(`${server.url}/console/sign-in`);
    await second.getByLabel("Access token").fill(live.token);
    await second.getByRole("button", { name: "Sign in" }).click();
    await second.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(
      await server.run('{ prompt(slug: "country-guide") { tags { label version } } }', {}, live.token),
    ).toEqual({ tags: [{ label: "production", version: "1.0.0" }] });
    await page.goto(`${server.url}/console/overview`);
    await page.getByRole("complementary").getByText("live").waitFor();
  });

  it("a row that is being written outlives its session, and is stored after a sign-in in another tab", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns: [{ name: "question", type: "text" }] });
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const { page } = await openConsole(server, context);
    await page.goto(`${server.url}/console/datasets/quiz`);
    await page.getByRole("button", { name: "Add row" }).click();
    const dialog = page.getByRole("dialog", { name: "Add row" });
    await dialog.getByLabel("question").fill("What took ten minutes");
    const [session] = await server.run("{ consoleSessions(first: 1) { nodes { id } } }");
    await server.run(
      "mutation ($id: ID!) { endConsoleSession(id: $id) { deletedConsoleSessionId } }",
      session,
    );
    await dialog.getByRole("button", { name: "Add" }).click();
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await openConsole(server, context);
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("What took ten minutes").waitFor();
    const rows = await server.run('{ dataset(slug: "quiz") { rows(first: 2) { nodes { values } } } }');
    expect(rows.rows).toEqual([{ values: { question: "What took ten minutes" } }]);
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

  it("an address of GraphiQL opens its queries beside those that the reader has written", async () => {
    await using server = await startServer();
    await using browser = await openBrowser();
    const page = await browser.newPage();
    await page.goto(`${server.url}/graphql`);
    await page.getByRole("tab", { name: "ReadDataset" }).waitFor();
    await page.getByRole("button", { name: /New tab/ }).click();
    await page.locator(".graphiql-query-editor").click();
    await page.keyboard.type("{ my_own_work ");
    const kept = () => page.evaluate('localStorage.getItem("graphiql:tabState")') as Promise<string>;
    await expect.poll(kept).toContain("my_own_work");
    const queries = [{ query: "query { __typename }", variables: "" }];
    await page.goto("about:blank");
    for (let opened = 0; opened < 2; opened += 1) {
      await page.goto(`${server.url}/graphql#${encodeURIComponent(JSON.stringify(queries))}`);
      await page.getByRole("button", { name: /Execute query/ }).waitFor();
      await expect.poll(kept).toContain("query { __typename }");
      await page.goto("about:blank");
    }
    await page.goto(`${server.url}/graphql`);
    const { tabs } = JSON.parse(await kept());
    expect(tabs.filter(({ query = "" }) => query?.includes("my_own_work"))).toHaveLength(1);
    expect(tabs.filter(({ query = "" }) => query?.includes("__typename }"))).toHaveLength(1);
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
