import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";

export const chromiumPath = [
  process.env.CHROMIUM_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path && existsSync(path));
export const skipReason = chromiumPath ? "" : " (skipped: no Chromium found, set CHROMIUM_PATH)";

export function openBrowser(): Promise<Browser> {
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const plain = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  return chromium.launch({ executablePath: chromiumPath!, args: [...plain, ...quiet] });
}

/** Opens the page of the REST interface and gives it a token. */
export async function openDocs(page: Page, { url, token }: { url: string; token: string }): Promise<void> {
  await page.goto(`${url}/docs`);
  await page.locator(".opblock").nth(3).waitFor();
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByLabel("auth-bearer-value").fill(token);
  await page.locator(".modal-btn.authorize").click();
  await page.locator(".btn-done").click();
}
