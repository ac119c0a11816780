import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { startServer } from "../support/server.ts";

const CREATE =
  "mutation ($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { promptVersion { id } } }";
const DESCRIBE =
  'query ($version: String!) { describePrompt(slug: "country-guide", version: $version) { promptVersion { systemText text messages { role content } variables { label type description } model { model provider client version parameters } } } }';

describe.skipIf(!hasChromium)(`writing prompts in Chromium${skipReason}`, () => {
  it("makes a version of another with its types, its messages and the texts beside them", async () => {
    await using server = await startServer({ console: true, sample: true });
    const messages = [{ role: "user", content: "Where is {{country}}? Since {{year}}?" }];
    const variables = [{ label: "year", type: "number" }];
    const own = { text: "The text beside: {{country}}", systemText: "Beside, too." };
    for (const input of [
      { version: "3.0.0", messages, variables, ...own },
      { version: "4.0.0", messages, variables },
    ])
      expect(await server.run(CREATE, { slug: "country-guide", input })).not.toHaveProperty("error");
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    for (const [version, next] of [
      ["3.0.0", "3.0.1"],
      ["4.0.0", "4.0.1"],
    ]) {
      await page.goto(`${server.url}/console/prompts/country-guide?view=edit&version=${version}`);
      await page.getByLabel("Content").fill("Where is {{country}} exactly? Since {{year}}?");
      await page.getByRole("button", { name: "Create version" }).click();
      await page.getByText(`Version ${next} is stored`).waitFor();
    }
    const beside = (await server.run(DESCRIBE, { version: "3.0.1" })).promptVersion;
    expect(beside).toMatchObject(own);
    expect(beside.messages[0].content).toContain("exactly");
    const made = (await server.run(DESCRIBE, { version: "4.0.1" })).promptVersion;
    expect(made.text).toBe("Where is {{country}} exactly? Since {{year}}?");
    for (const { variables: stored } of [beside, made])
      expect(stored).toContainEqual({ label: "year", type: "number", description: null });
    expect(complaints).toEqual([]);
  });

  it("makes a version of another with its model, and with its system text beside messages", async () => {
    await using server = await startServer({ console: true, sample: true });
    const messages = [{ role: "user", content: "Where is {{country}}?" }];
    const model = {
      ...{ model: "gpt-4o", provider: "azure", client: "langchain", version: "2024-08-06" },
      parameters: { temperature: 0.3 },
    };
    const systemText = "Answer in French.";
    const input = { version: "5.0.0", messages, systemText, model };
    expect(await server.run(CREATE, { slug: "country-guide", input })).not.toHaveProperty("error");
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide?view=edit&version=5.0.0`);
    await page.getByLabel("Content").fill("Where is {{country}} exactly?");
    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByText("Version 5.0.1 is stored").waitFor();
    const text = "Where is {{country}} exactly?";
    expect((await server.run(DESCRIBE, { version: "5.0.1" })).promptVersion).toMatchObject({
      ...{ systemText, text, model },
      messages: [{ role: "user", content: text }],
    });

    await page.goto(`${server.url}/console/prompts/country-guide?view=edit&version=5.0.1`);
    await page.getByLabel("Model").fill("gpt-5"); // whose version and client are others
    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByText("Version 5.0.2 is stored").waitFor();
    expect((await server.run(DESCRIBE, { version: "5.0.2" })).promptVersion.model).toEqual({
      ...model,
      ...{ model: "gpt-5", client: null, version: null },
    });
    expect(complaints).toEqual([]);
  });

  it("writes a system text as a message, where its writer goes on with messages", async () => {
    await using server = await startServer({ console: true });
    await server.run('mutation { createPrompt(input: { slug: "new", name: "New" }) { prompt { id } } }');
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/new?view=edit`);
    await page.getByLabel("System text").fill("Be brief.");
    await page.getByLabel("Text", { exact: true }).fill("Hello {{name}}");
    await page.getByRole("button", { name: "Write messages instead" }).click();
    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByText("Version 1.0.0 is stored").waitFor();
    const { promptVersion } = await server.run(
      '{ describePrompt(slug: "new", version: "1.0.0") { promptVersion { messages { role content } } } }',
    );
    expect(promptVersion.messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hello {{name}}" },
    ]);
    expect(complaints).toEqual([]);
  });

  it("asks before an edited draft is left, and goes on as the reader wants", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide`);
    await page.getByRole("link", { name: "New version" }).click();
    await page.getByLabel("System text").fill("An hour of work.");
    await page.getByRole("button", { name: "Publish…" }).click(); // over the draft
    await page.getByRole("dialog", { name: "Publish 1.1.0" }).getByRole("button", { name: "Cancel" }).click();
    const question = page.getByRole("dialog", { name: "Leave without saving?" });
    await page.getByRole("link", { name: "Datasets" }).click();
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    expect(await page.getByLabel("System text").inputValue()).toBe("An hour of work.");
    await page.goBack();
    await question.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { name: "What the model gets" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("marks variables and says what is wrong with a template while it is typed", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide?view=edit`);
    const text = page.getByLabel("Text", { exact: true });
    await text.fill("Where is {{ country }}?\n{% if year %}Since {{ year }}");
    const problem = page.getByText(/^Not a valid template at line 2/);
    await problem.waitFor();
    expect(await text.getAttribute("aria-invalid")).toBe("true");
    const [wrong] = await problem.allInnerTexts();
    const marked = page.locator("pre", { hasText: "Where is" });
    expect(await marked.locator("span").allInnerTexts()).toEqual([
      "{{ country }}",
      "{% if year %}",
      "{{ year }}",
    ]);
    const [field, marks] = await Promise.all([text.boundingBox(), marked.boundingBox()]);
    expect(marks).toEqual(field); // each letter over its own
    expect(complaints).toEqual([]);

    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByText(wrong!.replace("Not a valid template ", "is not a valid template ")).waitFor(); // the server agrees
    await text.press("End");
    await page.keyboard.type("{% endif %}");
    await problem.waitFor({ state: "detached" });
    expect(await text.getAttribute("aria-invalid")).toBe("false");
  });

  it("shows what the calls of a version took, and protects a tag", async () => {
    await using server = await startServer({ console: true, sample: true });
    const log = { slug: "country-guide", tag: "production", output: "An answer.", cost: 0.25 };
    for (let n = 0; n < 2; n += 1) await server.post("/monitor/log", log);
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide`);
    const usage = page.getByRole("region", { name: "The last 30 days" });
    await expect.poll(() => usage.innerText()).toMatch(/Calls\s+2\s+Errors\s+0\s+Cost\s+\$0\.5/);
    await usage.getByRole("link", { name: "2" }).click();
    await page.getByText("An answer.").first().waitFor();
    expect(new URL(page.url()).search).toBe("?slug=country-guide&version=1.1.0&since=month");

    await page.goto(`${server.url}/console/prompts/country-guide?view=tags`);
    const tag = page.getByRole("region", { name: "Tags" }).getByRole("row", { name: /production/ });
    const stored = () => server.run('{ prompt(slug: "country-guide") { protectedTags } }');
    await tag.getByRole("button", { name: "Protect", exact: true }).click();
    await tag.getByText("protected", { exact: true }).waitFor();
    expect(await stored()).toEqual(["production"]);
    await tag.getByRole("button", { name: "Unprotect" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unprotect" }).click();
    await tag.getByText("protected", { exact: true }).waitFor({ state: "detached" });
    expect(await stored()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("compares and counts on from versions that are older than the hundred latest", async () => {
    await using server = await startServer({ console: true });
    await server.run('mutation { createPrompt(input: { slug: "greet", name: "Greet" }) { prompt { id } } }');
    for (let n = 1; n <= 102; n += 1)
      await server.run(CREATE, { slug: "greet", input: { version: `1.0.${n}`, text: `text ${n}` } });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/greet?view=compare&version=1.0.2`);
    await page.getByRole("table", { name: "Version 1.0.1 beside 1.0.2" }).waitFor();
    expect(await page.getByLabel("Compare from").inputValue()).toBe("1.0.1");
    expect(await page.getByLabel("Compare with").inputValue()).toBe("1.0.2");
    await page.goto(`${server.url}/console/prompts/greet?view=edit&version=1.0.1`);
    expect(await page.getByLabel("Version", { exact: true }).inputValue()).toBe("1.0.103");
  });

  it("rolls a tag back by one version, though two readers do so and click twice", async () => {
    await using server = await startServer({ console: true });
    const change = async (mutation: string) =>
      expect(await server.run(`mutation { ${mutation} }`)).not.toHaveProperty("error");
    await change('createPrompt(input: { slug: "greet", name: "Greet" }) { prompt { id } }');
    for (const version of ["1", "2", "3"]) {
      await change(
        `createPromptVersion(slug: "greet", input: { version: "${version}", text: "v${version}" }) { promptVersion { id } }`,
      );
      await change(
        `publishPrompt(slug: "greet", input: { newTag: "production", to: { version: "${version}" } }) { prompt { id } }`,
      );
    }
    await change(
      'publishPrompt(slug: "greet", input: { newTag: "new", to: { version: "1" } }) { prompt { id } }',
    );
    await using browser = await openBrowser();
    const readers = await Promise.all(
      [1, 2].map(async () => openConsole(server, await browser.newContext())),
    );
    const tagOf = ({ page }: (typeof readers)[number], name: string) =>
      page.getByRole("region", { name: "Tags" }).getByRole("row", { name }).getByRole("button");
    for (const reader of readers) {
      await reader.page.goto(`${server.url}/console/prompts/greet?view=tags`);
      await tagOf(reader, "production").last().dblclick();
      await reader.page.getByRole("dialog", { name: "production: 3 → 2?" }).waitFor();
    }
    for (const { page } of readers) {
      await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).dblclick();
      await page.getByText("production points to 2 again").waitFor();
    }
    const { page } = readers[0]!;
    await tagOf(readers[0]!, "new").last().click();
    await page
      .getByRole("dialog", { name: "new: 1 → removed?" })
      .getByRole("button", { name: "Roll back" })
      .click();
    await page.getByText("new is gone again").waitFor();
    await tagOf(readers[0]!, "production").first().dblclick(); // “Protect”, and then what it has become
    await page.getByText("production needs the scope publish now").waitFor();
    expect(await server.run('{ prompt(slug: "greet") { protectedTags tags { label version } } }')).toEqual({
      protectedTags: ["production"],
      tags: [{ label: "production", version: "2" }],
    });
  });
});
