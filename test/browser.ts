import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

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
