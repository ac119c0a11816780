import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const HOUR_MS = 3_600_000;

/** Thirty calls, one an hour, whose answers are "answer 1" and so on. */
const calls = (at: number) => ({
  startTime: new Date(Date.now() - at * HOUR_MS - 60_000),
  promptSlug: at % 3 === 0 ? "guide" : "quiz",
  version: at % 2 === 0 ? "1.0.0" : "2.0.0",
  model: at % 5 === 0 ? "o3" : "gpt-4o",
  status: at % 10 === 0 ? ("error" as const) : null,
  userId: at === 7 ? "amina" : null,
  output: `answer ${at}`,
  cost: 0.1,
  costSource: at % 2 ? ("NONE" as const) : ("REPORTED" as const), // the usage of a step that is no call does not count
});

/** The facets as their titles, each with its choices. */
const facets = async (page: Page) =>
  Object.fromEntries(
    await Promise.all(
      (await page.locator("details section").all()).map(async (section) => [
        await section.getByRole("heading").innerText(),
        (await section.getByRole("button").allInnerTexts()).map((text) => text.replace(/\s+/g, " ")),
      ]),
    ),
  );

const answers = async (page: Page) =>
  (
    await page
      .getByRole("region", { name: "Logs" })
      .getByText(/^answer \d+$/)
      .allInnerTexts()
  ).map((text) => Number(text.replace("answer ", "")));

describe.skipIf(!hasChromium)(`logs by their facets in Chromium${skipReason}`, () => {
  it("are counted as the list would show them, and a click filters by one, which the address holds", async () => {
    await using server = await startServer({ console: true });
    await addLogs(server, 30, calls);
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/logs`);
    await page.getByRole("button", { name: "gpt-4o 24" }).waitFor();
    expect(await facets(page)).toEqual({
      Status: ["Error 3"],
      Prompt: ["quiz 20", "guide 10"],
      Model: ["gpt-4o 24", "o3 6"],
      User: ["amina 1"],
    });
    await page.getByRole("button", { name: "o3 6" }).click();
    await expect.poll(() => answers(page)).toEqual([0, 5, 10, 15, 20, 25]);
    await page.getByRole("button", { name: "Error 3" }).click();
    await expect.poll(() => answers(page)).toEqual([0, 10, 20]);
    await page.getByRole("button", { name: "quiz 2", exact: true }).click();
    await page.getByRole("button", { name: "1.0.0 2" }).waitFor();
    await expect.poll(() => answers(page)).toEqual([10, 20]);
    expect(new URL(page.url()).search).toBe("?model=o3&status=error&slug=quiz");
    await page.reload();
    await expect.poll(() => answers(page)).toEqual([10, 20]);
    const model = page.getByRole("button", { name: /^o3/ });
    expect(await model.getAttribute("aria-pressed")).toBe("true");
    await model.click();
    await page.getByRole("button", { name: "Error 2" }).click();
    await page.getByRole("button", { name: "2.0.0 10" }).click();
    await expect.poll(() => answers(page)).toEqual([1, 5, 7, 11, 13, 17, 19, 23, 25, 29]);
    expect(new URL(page.url()).search).toBe("?slug=quiz&version=2.0.0");
    expect(complaints).toEqual([]);
  });

  it("are counted for a day, and not again for words that are typed", async () => {
    await using server = await startServer({ console: true });
    await addLogs(server, 30, calls);
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    let counts = 0;
    page.on("request", (request) => {
      if (request.postData()?.includes("query LogFacets")) counts += 1;
    });
    await page.goto(`${server.url}/console/logs?since=hour`);
    await page.getByText("Logs in this period").waitFor();
    await page.getByRole("button", { name: "guide 1" }).waitFor();
    expect(await facets(page)).toMatchObject({ Prompt: ["guide 1"], Model: ["o3 1"] });
    await page.getByRole("searchbox").pressSequentially("answer 0");
    await expect.poll(() => answers(page)).toEqual([0]);
    expect(counts).toBe(1);
  });
});

describe.skipIf(!hasChromium)(`a log in Chromium${skipReason}`, () => {
  it("shows the messages of a call as a conversation, or as their JSON, and tells an empty output from none", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    const { logs } = await server
      .graphql("{ logs(first: 100) { nodes { id name input } } }")
      .then(({ body }) => body.data);
    const call = logs.nodes.find(
      ({ input }: { input: unknown }) => Array.isArray(input) && input[0].role === "user",
    );
    await page.goto(`${server.url}/console/logs/${call.id}`);
    const input = page.getByRole("region", { name: "Input" });
    await input.getByRole("heading", { name: "user" }).waitFor();
    await input.getByText(call.input[0].parts[0].content, { exact: true }).waitFor();
    await input.getByRole("button", { name: "JSON" }).click();
    await input.getByText('"role": "user"').waitFor();
    await input.getByRole("button", { name: "JSON" }).click();
    await input.getByRole("heading", { name: "user" }).waitFor();
    expect(complaints).toEqual([]);

    await server.post("/monitor/log", { slug: "quiz", output: "" });
    const [{ id }] = await server.run("{ logs(first: 1) { nodes { id } } }");
    await page.goto(`${server.url}/console/logs/${id}`);
    await page.getByRole("region", { name: "Output" }).getByText("An empty text.").waitFor();
    await page.getByRole("region", { name: "Input" }).getByText("None was reported.").waitFor();
  });

  it("becomes a row of any dataset, which is searched where there are more than a hundred", async () => {
    await using server = await startServer({ console: true });
    const columns = [{ name: "output", type: "text" as const }];
    for (let n = 100; n <= 200; n += 1) await addDataset(server, { slug: `d${n}`, columns });
    await server.post("/monitor/log", { slug: "quiz", output: "an answer" });
    const [{ id }] = await server.run("{ logs(first: 1) { nodes { id } } }");
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/logs/${id}?dialog=dataset`);
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Search datasets").fill("none");
    await dialog.getByText("No dataset fits").waitFor();
    await dialog.getByLabel("Search datasets").fill("d200");
    await expect.poll(() => dialog.getByLabel("Dataset", { exact: true }).inputValue()).toBe("d200");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByText("Added to d200").waitFor();
    const { rows } = await server.run('{ dataset(slug: "d200") { rows { nodes { values } } } }');
    expect(rows).toEqual([{ values: { output: "an answer" } }]);
  });
});
