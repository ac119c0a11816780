import type { BrowserContext, Page } from "playwright-core";
import { expect, onTestFailed } from "vitest";
import type { Server } from "./server.ts";

/** Opens the console in a new page and signs in by the token. */
export async function openConsole(server: Pick<Server, "url" | "token">, context: BrowserContext) {
  const page = await context.newPage();
  const complaints = collectComplaints(page);
  const seen = new Set<string>();
  context.on("request", (request) => seen.add(new URL(request.url()).origin));
  await page.goto(server.url);
  await page.getByLabel("Access token").fill(server.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return { page, complaints, origins: () => [...seen].filter((origin) => origin !== "null") };
}

/** Errors and warnings of the console, which is also where Chromium reports what the policy of a page forbids. */
export function collectComplaints(page: Page): string[] {
  const complaints: string[] = [];
  // What a locator waited for in vain does not say that the service refused a request.
  if (expect.getState().currentTestName)
    onTestFailed(() => console.error("What the browser said:", complaints));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      complaints.push(`${message.text()} (${message.location().url})`);
  });
  return complaints;
}

/** Pastes a text as the keys of the browser do, without its clipboard, which all pages share. */
export async function pasteInto(page: Page, text: string): Promise<void> {
  await page.locator(":focus").waitFor(); // what was clicked may hand it on
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(text)});
    document.activeElement.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
  }`);
}
