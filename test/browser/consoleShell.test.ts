import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

describe.skipIf(!hasChromium)(`the frame of the console in Chromium${skipReason}`, () => {
  it("leads back to the screen where the session ended, however many answers say so", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const { page } = await openConsole(server, context);
    await page.goto(`${server.url}/console/datasets/country-quiz`);
    await page.getByRole("grid", { name: "Rows" }).focus();
    await context.clearCookies();
    const late = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      if (route.request().postData()?.includes("mutation")) await late.promise;
      await route.continue();
    });
    await page.keyboard.type("An answer");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Logs" }).click();
    await page.getByRole("button", { name: "Leave" }).click(); // the edit is not answered yet
    await page.getByLabel("Access token").waitFor();
    const answered = page.waitForResponse("**/graphql");
    late.resolve();
    expect((await answered).ok()).toBe(false);
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))"); // the answer is read by then
    expect(new URL(page.url()).searchParams.get("next")).toMatch(/^\/logs$/);
    await page.getByLabel("Access token").fill(server.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Logs" }).waitFor();
  });

  it("says that one is still signed in, when Gabbro cannot be reached to sign out", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    const failures: string[] = [];
    page.on("pageerror", ({ message }) => failures.push(message));
    await page.route("**/console/session", (route) => route.abort());
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Gabbro cannot be reached: you are still signed in.").waitFor();
    await page.unroute("**/console/session");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").waitFor();
    expect(failures).toEqual([]);
  });

  it("gives the focus back when a dialog closes, which leaves the address and the history as they were", async () => {
    await using server = await startServer({ console: true });
    for (let n = 1; n <= 60; n += 1)
      await addPrompt(server, { slug: `p-${String(n).padStart(2, "0")}`, versions: [{ version: "1" }] });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.getByRole("link", { name: "Prompts", exact: true }).click();
    await page.getByRole("link", { name: "Next page" }).click();
    await page.getByText("p-60", { exact: true }).waitFor();
    const address = page.url();
    const length = await page.evaluate("history.length");
    const open = page.getByRole("button", { name: "New prompt" });
    const dialog = page.getByRole("dialog", { name: "New prompt" });
    const focused = () => page.evaluate("document.activeElement.textContent");
    for (const close of ["Cancel", "Close"]) {
      await open.click();
      await expect.poll(() => page.evaluate("document.activeElement.labels?.[0]?.textContent")).toBe("Name");
      await dialog.getByRole("button", { name: close }).click();
      await dialog.waitFor({ state: "detached" });
      expect([await focused(), page.url()]).toEqual(["New prompt", address]);
    }
    await page.getByText("p-60", { exact: true }).click();
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await focused()).toBe("Publish…");
    expect(await page.evaluate("history.length")).toBe(Number(length) + 1);
    expect(complaints).toEqual([]);
  });

  it("shows the screen of an address whose day is none", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    for (const name of ["Logs", "Traces"]) {
      await page.goto(`${server.url}/console/${name.toLowerCase()}?day=2026-99-99`);
      await page.getByRole("region", { name, exact: true }).waitFor();
    }
    await page.goto(`${server.url}/console/settings?before=soon`);
    expect(await page.getByRole("button", { name: "Count them" }).isDisabled()).toBe(true);
    expect(complaints).toEqual([]);
  });

  it("shows each filter of the address that has no control, and removes it", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    for (const [path, ...names] of [
      ["/logs?version=9&user=u1&minCost=5&minLatency=1234", "Version 9", "User u1", "Cost from $ 5", "1234"],
      ["/traces?slug=none&user=u1&minCost=7&minLatency=1234", "Prompt none", "User u1", "$ 7", "1234"],
      ["/usage?slug=none", "Prompt none"],
    ]) {
      await page.goto(`${server.url}/console${path}`);
      for (const name of names)
        await page
          .getByRole("button", { name: `Remove the filter` })
          .and(page.getByRole("button", { name }))
          .click();
      await expect.poll(() => new URL(page.url()).search).toBe("");
      expect(await page.getByRole("button", { name: "Remove the filter" }).count()).toBe(0);
    }
    expect(complaints).toEqual([]);
  });

  it("goes from row to row by j and k, also where a row has no link", async () => {
    await using server = await startServer({ console: true, sample: true });
    for (const slug of ["one", "two"])
      await server.run(`mutation { createPrompt(input: { slug: "${slug}" }) { prompt { id } } }`);
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/audit`);
    const rows = page.getByRole("region", { name: "Audit log" }).locator("tbody tr");
    await rows.nth(1).waitFor();
    for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
    expect(
      await rows
        .first()
        .getByRole("button", { name: "Show" })
        .evaluate("document.activeElement.closest('tr').rowIndex"),
    ).toBe(1);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Change" }).getByText("one").first().waitFor();
  });

  it("goes on by j and k from the row that was opened, when one goes back to its list", async () => {
    await using server = await startServer({ console: true });
    for (const slug of ["p-1", "p-2", "p-3", "p-4"]) await addPrompt(server, { slug });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.getByRole("link", { name: "Prompts", exact: true }).click();
    const rows = page.getByRole("region", { name: "Prompts" }).locator("tbody tr");
    await rows.nth(3).waitFor();
    const focused = () => page.evaluate("document.activeElement.closest('tr')?.rowIndex");
    const openAndGoBack = async (open: () => Promise<void>) => {
      await open();
      await rows.first().waitFor({ state: "detached" });
      await page.goBack();
      await rows.nth(3).waitFor();
    };
    await openAndGoBack(() => rows.nth(1).click());
    await page.keyboard.press("j");
    expect(await focused()).toBe(3);
    await openAndGoBack(() => page.keyboard.press("Enter"));
    await page.keyboard.press("k");
    expect(await focused()).toBe(2);
    await page.getByRole("link", { name: "Audit log" }).click();
    await page.getByRole("link", { name: "Prompts", exact: true }).click();
    await rows.nth(3).waitFor();
    await page.keyboard.press("j");
    expect(await focused()).toBe(1);
  });

  it("opens nothing by the palette that was found for an earlier text", async () => {
    await using server = await startServer({ console: true });
    for (const slug of ["alpha", "beta"]) await addDataset(server, { slug, columns: [] });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Go to, search or do" });
    await field.fill("alpha");
    await page.getByRole("option", { name: "alpha alpha" }).waitFor();
    const answered = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      await answered.promise;
      await route.continue();
    });
    await field.fill("beta");
    await page.getByRole("option", { name: "alpha alpha" }).waitFor({ state: "detached" });
    answered.resolve();
    await page.getByRole("option", { name: "beta beta" }).waitFor();
    await field.press("Enter");
    await page.getByRole("heading", { name: /^beta/ }).waitFor();
  });

  it("keeps the chosen entry of the palette in view", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 900, height: 320 } });
    const { page } = await openConsole(server, context);
    await page.keyboard.press("Control+k");
    const entries = page.getByRole("dialog").getByRole("option");
    await entries.first().waitFor();
    const count = await entries.count();
    for (let n = 1; n < count; n += 1) await page.keyboard.press("ArrowDown");
    expect(await entries.last().getAttribute("aria-selected")).toBe("true");
    const list = (await page.getByRole("listbox").boundingBox())!;
    const last = (await entries.last().boundingBox())!;
    expect(last.y + last.height).toBeLessThanOrEqual(list.y + list.height + 1);
  });
});
