import { describe, expect, it } from "vitest";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { startServer } from "../support/server.ts";

const LOG = { slug: "guide", output: "b" };
const HOSTILE = "<img src=x onerror=alert(1)>";

describe.skipIf(!hasChromium)(`the settings in Chromium${skipReason}`, () => {
  it("say what to do about what a client sent in vain, and that nothing is to do before", async () => {
    await using server = await startServer({ console: true });
    await server.post("/monitor/log", LOG);
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/settings`);
    const card = page.getByRole("region", { name: "What needs attention" });
    await card.getByText("There is nothing to do.").waitFor();
    await card.getByText("The newest trace began").waitFor();
    const headers = { "user-agent": HOSTILE };
    const { body } = await server.post("/datasets/none/items", { values: {} }, { headers });
    await storeRejected(server.database);
    await page.reload();
    const finding = card.getByRole("listitem");
    await expect.poll(() => finding.allInnerTexts()).toHaveLength(1);
    const text = await finding.innerText();
    expect(text).toContain(`rejected 1 request of ${HOSTILE} within the last day: ${body.error}`);
    expect(text).toContain("Create the dataset, or correct its slug in the client.");
    expect(await card.getByText("There is nothing to do.").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("name the missing scope where a token may not examine its workspace", async () => {
    await using server = await startServer({ console: true });
    const { token } = await server.run(
      'mutation { createAccessToken(input: { name: "a", scopes: [ADMIN] }) { token } }',
    );
    await using browser = await openBrowser();
    const { page } = await openConsole({ ...server, token }, await browser.newContext());
    await page.goto(`${server.url}/console/settings`);
    const card = page.getByRole("region", { name: "What needs attention" });
    await card.getByRole("alert").getByText('lacks the scope "read"').waitFor();
    await card.getByRole("button", { name: "Try again" }).waitFor();
  });
});
