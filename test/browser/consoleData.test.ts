import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";

describe.skipIf(!hasChromium)(`the data of the console in Chromium${skipReason}`, () => {
  it("is that of the dataset in the address, also after another one", async () => {
    await using server = await startServer({ console: true });
    const columns = [{ name: "word", type: "text" as const }];
    for (const slug of ["first", "second"])
      await addDataset(server, { slug, columns, rows: [{ values: { word: `a word of the ${slug}` } }] });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/first`);
    const grid = page.getByRole("grid", { name: "Rows" });
    await grid.getByText("a word of the first").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("second");
    await page.getByRole("option", { name: "second second" }).click();
    await page.getByRole("heading", { name: /^second/ }).waitFor();
    await grid.getByText("a word of the second").waitFor();
    expect(await grid.getByText("a word of").allInnerTexts()).toEqual(["a word of the second"]);
    expect(complaints).toEqual([]);
  });

  it("is shown where names are those of methods of all objects", async () => {
    await using server = await startServer({ console: true });
    const columns = ["word", "constructor"].map((name) => ({ name, type: "text" as const }));
    await addDataset(server, { slug: "words", columns, rows: [{ values: { word: "a word" } }] });
    for (const mutation of [
      'createPrompt(input: { slug: "team", name: "Team" }) { prompt { id } }',
      'createPromptVersion(slug: "team", input: { version: "1", text: "{{ toString }} of {{ word }}" }) { promptVersion { id } }',
    ])
      expect(await server.run(`mutation { ${mutation} }`)).not.toHaveProperty("error");
    await server.post("/monitor/log", { slug: "team", output: "an answer" });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/words`);
    const cells = page.getByRole("grid").getByRole("row").last().getByRole("gridcell");
    await expect.poll(() => cells.allInnerTexts()).toEqual(["a word", "", "", ""]);
    await page.goto(`${server.url}/console/prompts/team`);
    expect(await page.getByLabel("toString").inputValue()).toBe("");
    await page.getByLabel("word").fill("a word");
    await page.getByText(" of a word").waitFor();
    await page.goto(`${server.url}/console/logs?since=constructor&status=constructor`);
    await page.getByText("an answer").first().waitFor();
    expect(complaints).toEqual([]);
  });

  it("stays on the screen when it cannot be fetched again", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/country-quiz`);
    const grid = page.getByRole("grid", { name: "Rows" });
    await grid.getByRole("gridcell").first().waitFor();
    await page.route("**/graphql", (route) =>
      route.request().postData()?.includes("query DatasetHead") ? route.abort() : route.continue(),
    );
    await grid.focus();
    await page.keyboard.type("Which country is it?");
    await page.keyboard.press("Enter");
    await page.getByText("Gabbro cannot be reached.").waitFor();
    await grid.getByText("Which country is it?").waitFor();
    await page.unroute("**/graphql");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Gabbro cannot be reached.").waitFor({ state: "detached" });
    expect(await grid.getByText("Which country is it?").count()).toBe(1);
  });

  it("is fetched anew when a screen opens again, but for texts that stay as they are", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    const texts: string[] = [];
    page.on("request", (request) => {
      const body = request.postData() ?? "";
      if (body.includes("query VersionTexts")) texts.push(body);
    });
    await page.goto(`${server.url}/console/prompts/country-guide?version=1.1.0`);
    await page.getByRole("heading", { name: "What the model gets" }).waitFor();
    await page.getByRole("link", { name: "Logs" }).last().click();
    await page.getByText("No log fits").waitFor();
    await server.post("/monitor/log", { slug: "country-guide", output: "It came meanwhile." });
    await server.run(
      'mutation { publishPrompt(slug: "country-guide", input: { newTag: "beta", to: { version: "1.0.0" } }) { promptTag { id } } }',
    );
    await page.goBack();
    await page.getByRole("navigation", { name: "Versions" }).getByText("beta").waitFor();
    await page.getByRole("link", { name: "Logs" }).last().click();
    await page.getByText("It came meanwhile.").waitFor();
    expect(texts).toHaveLength(1);
  });

  it("goes on to arrive after the stream of events ended or broke, below what had arrived", async () => {
    await using server = await startServer({ console: true, sample: true });
    const { logId } = (await server.post("/monitor/log", { slug: "country-guide", output: "Before." })).body;
    const [log] = (await server.run("{ logs(first: 1) { nodes { id startTime } } }")) as object[];
    const logAdded = {
      ...{ __typename: "Log", input: null, output: "The first one.", version: null, model: null, ...log },
      ...{ totalTokens: null, cost: null, costSource: "UNPRICED", latencyMs: null, prompt: null },
      trace: { __typename: "Trace", id: logId, name: "country-guide" },
    };
    const body = `event: next\ndata: ${JSON.stringify({ data: { logAdded } })}\n\nevent: complete\ndata:\n\n`;
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    let attempts = 0;
    await page.route("**/graphql", (route) => {
      if (!route.request().postData()?.includes("subscription")) return route.continue();
      attempts += 1;
      if (attempts === 1) return route.fulfill({ contentType: "text/event-stream", body });
      return attempts === 2 ? route.abort() : route.continue();
    });
    await page.goto(`${server.url}/console/logs?live=1`);
    const arrived = page.getByRole("region", { name: "New logs" });
    await arrived.getByText("The first one.").waitFor();
    await page.getByText("Gabbro cannot be reached.").waitFor();
    await arrived.getByText("The first one.").waitFor();
    await server.post("/monitor/log", { slug: "country-guide", output: "In the gap." });
    await page.getByRole("region", { name: "Logs", exact: true }).getByText("In the gap.").waitFor();
    await expect.poll(() => server.database.pubSub.count()).toBe(1);
    await server.post("/monitor/log", { slug: "country-guide", output: "The second one." });
    await arrived.getByText("The second one.").waitFor();
    expect(await arrived.getByText("The first one.").count()).toBe(1);
    await page.getByText("Gabbro cannot be reached.").waitFor({ state: "detached" });
  });
});
