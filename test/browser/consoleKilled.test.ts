import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { type Gateway, headers, prepareDatabase, startGateway, TOKEN } from "../../faults/gateway.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";

const TEXT = "A text that took an hour: {{country}}";
/** The ideal output of the first row of the sample. */
const ANSWER = "It is the flag of France.";
const CELL = "A cell that took a minute";

/** The program with the sample, which is killed and started again on its port and its database. */
async function startProgram() {
  const database = await newDatabase();
  await prepareDatabase(database.databaseUrl, "with sample");
  let gateway: Gateway = await startGateway(database);
  const { url } = gateway;
  return {
    url,
    token: TOKEN,
    /** What is sent from now on arrives, and nothing is done about it. */
    freeze: () => gateway.child.kill("SIGSTOP"),
    kill: () => gateway.kill(),
    startAgain: async () => {
      gateway = await startGateway({ ...database, env: { PORT: new URL(url).port } });
    },
    stored: async (): Promise<{ versions: string[]; texts: string[]; answers: string[] }> => {
      const query = `{ prompt(slug: "country-guide") { versions { nodes { version text } } }
        dataset(slug: "country-quiz") { rows { nodes { idealOutput } } } }`;
      const body = JSON.stringify({ query });
      const { data } = await (await fetch(`${url}/graphql`, { method: "POST", headers, body })).json();
      const versions: { version: string; text: string }[] = data.prompt.versions.nodes;
      const rows: { idealOutput: string }[] = data.dataset.rows.nodes;
      return {
        versions: versions.map(({ version }) => version),
        texts: versions.map(({ text }) => text),
        answers: rows.map(({ idealOutput }) => idealOutput),
      };
    },
    async [Symbol.asyncDispose]() {
      await gateway.kill();
      await database[Symbol.asyncDispose]();
    },
  };
}

type Program = Awaited<ReturnType<typeof startProgram>>;

/** Types a text into the editor of prompts, in a tab of its own. */
async function editPrompt({ url }: Program, context: BrowserContext) {
  const page = await context.newPage();
  await page.goto(`${url}/console/prompts/country-guide?view=edit`);
  const field = page.getByLabel("Text", { exact: true });
  await field.fill(TEXT);
  return { page, field, save: () => page.getByRole("button", { name: "Create version" }).click() };
}

/** Types a text into a cell of the first row, in a tab of its own. */
async function editCell({ url }: Program, context: BrowserContext) {
  const page = await context.newPage();
  await page.goto(`${url}/console/datasets/country-quiz`);
  await page.getByRole("gridcell", { name: ANSWER, exact: true }).first().dblclick();
  const field = page.getByLabel("Value");
  await field.fill(CELL);
  return { page, field, save: () => page.keyboard.press("Enter") };
}

const isSave = (request: { postData(): string | null }) => request.postData()?.includes("mutation") ?? false;

async function saveUntilSent({ page, save }: { page: Page; save: () => Promise<void> }) {
  const sent = page.waitForRequest(isSave);
  await save();
  await sent;
}

const sayNothingIsLost = (page: Page) => page.getByText("Nothing of what you typed is lost.").waitFor();

describe.skipIf(!hasChromium)(`a program that is killed during a save${skipReason}`, () => {
  it("loses no text, which a second attempt stores once after its start; only who leaves the page drops it", async () => {
    await using program = await startProgram();
    await using browser = await openBrowser();
    const context = await browser.newContext();
    await openConsole(program, context);
    const prompt = await editPrompt(program, context);
    const cell = await editCell(program, context);
    const left = await editPrompt(program, context);
    const before = await program.stored();
    program.freeze();
    for (const edit of [prompt, cell, left]) await saveUntilSent(edit);
    await program.kill();
    for (const { page } of [prompt, cell, left]) await sayNothingIsLost(page);
    await program.startAgain();
    expect(await program.stored()).toEqual(before);
    expect(await prompt.field.inputValue()).toBe(TEXT);
    expect(await cell.field.inputValue()).toBe(CELL);

    const asked: string[] = [];
    left.page.on("dialog", async (dialog) => {
      asked.push(dialog.type());
      await dialog.accept();
    });
    await left.page.reload();
    expect(asked).toEqual(["beforeunload"]);
    expect(await left.field.inputValue()).not.toBe(TEXT); // as every page would be if it kept no drafts

    await prompt.save();
    await prompt.page.getByText("Version 1.1.1 is stored").waitFor();
    await cell.page.getByRole("button", { name: "Try again" }).click();
    await cell.field.waitFor({ state: "detached" });
    await expect.poll(async () => (await program.stored()).answers[0]).toBe(CELL); // it is being stored
    const after = await program.stored();
    expect(after.versions.toSorted()).toEqual([...before.versions, "1.1.1"].toSorted());
    expect(after.texts).toContain(TEXT);
    expect(after.answers).toEqual([CELL, ...before.answers.slice(1)]);
  });

  it("stores nothing twice where it had stored the text and was killed before it answered", async () => {
    await using program = await startProgram();
    await using browser = await openBrowser();
    const context = await browser.newContext();
    await openConsole(program, context);
    const prompt = await editPrompt(program, context);
    await prompt.page.route("**/graphql", async (route) => {
      if (!isSave(route.request())) return route.continue();
      await route.fetch();
      await program.kill();
      await route.abort();
    });
    await saveUntilSent(prompt);
    await sayNothingIsLost(prompt.page);
    await prompt.page.unroute("**/graphql");
    await program.startAgain();
    const before = await program.stored();
    expect(before.texts).toContain(TEXT);
    await prompt.save();
    await prompt.page.getByText("Version 1.1.1 is stored").waitFor();
    expect(await program.stored()).toEqual(before);
  });
});
