import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { inject } from "vitest";

const fromNpm = inject("chromium");
const installed = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = [process.env.CHROMIUM_PATH, fromNpm?.executablePath, ...installed].find(
  (path) => path && existsSync(path),
);
/** False only where npm has no Chromium for the machine and none is installed. */
export const hasChromium = executablePath !== undefined;
export const skipReason = hasChromium ? "" : " (skipped: no Chromium found, set CHROMIUM_PATH)";

/** A busy machine may take long for any step. Less than a test may take, whose failure would not name the step. */
const STEP_TIMEOUT_MS = 100_000;

export async function openBrowser(...args: string[]): Promise<Browser> {
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const plain = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  const env = executablePath === fromNpm?.executablePath ? fromNpm?.env : undefined;
  const browser = await chromium.launch({
    executablePath: executablePath!,
    args: [...plain, ...quiet, ...args],
    env: { ...process.env, ...env } as Record<string, string>,
  });
  return browser.on("context", (context) => context.setDefaultTimeout(STEP_TIMEOUT_MS));
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
