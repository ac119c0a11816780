import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { unpackChromium } from "./chromiumSetup.ts";

/** A program: makes the pictures of the console that README and docs show, of a new database with the sample. */
const images = fileURLToPath(new URL("../../docs/images", import.meta.url));
const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const SIZE = { width: 1400, height: 900 };
const SETTLE_MS = 1_500;
const START_MS = 20_000;

/** Each picture, and how to get to it from the overview. */
const screens: Record<string, (page: Page, show: Show) => Promise<void>> = {
  overview: async (page) => page.getByRole("heading", { name: "Overview" }).waitFor(),
  compare: (_, show) => show("/prompts/country-guide?version=2.0.0&from=1.1.0&view=compare"),
  impact: async (page, show) => {
    await show("/prompts/country-guide?version=2.0.0&from=1.1.0&view=impact");
    await page.getByRole("region", { name: "A day" }).waitFor(); // once all calls are rendered
  },
  dataset: (_, show) => show("/datasets/country-quiz"),
  trace: async (page, show) => {
    await show("/traces");
    await page.getByRole("link", { name: "plan a trip" }).first().click();
    await page.getByRole("treegrid", { name: "Steps" }).getByRole("row").nth(3).click();
  },
  usage: (_, show) => show("/usage"),
};
type Show = (path: string) => Promise<void>;

const folder = await mkdtemp(join(tmpdir(), "gabbro-screenshots-"));
const { url, token, stop } = await serve();
try {
  await takeAll();
} finally {
  await stop();
  await rm(folder, { recursive: true });
}

/** Starts Gabbro on a new database, and waits until the month of the sample is stored. */
async function serve() {
  const env = { DATABASE_URL: `sqlite:${join(folder, "gabbro.sqlite")}`, PORT: "0", OTLP_GRPC_PORT: "off" };
  const child = spawn(process.execPath, [main, "serve"], { env: { ...process.env, ...env } });
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  child.stderr.pipe(process.stderr);
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  const address = () => /http:\/\/localhost:\d+/.exec(output)?.[0];
  for (const endMs = performance.now() + START_MS; !address(); await wait(50))
    if (performance.now() > endMs) throw new Error(`Gabbro did not start:\n${output}`);
  await wait(5_000);
  return { url: address()!, token: (await readFile(join(folder, "first-token"), "utf8")).trim(), stop };
}

async function takeAll(): Promise<void> {
  const own = await unpackChromium();
  const env = { ...process.env, ...own?.env } as Record<string, string>;
  const executablePath = own?.executablePath ?? process.env.CHROMIUM_PATH!;
  const browser = await chromium.launch({ executablePath, env, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: SIZE, deviceScaleFactor: 1.5, reducedMotion: "reduce" });
  await page.goto(`${url}/console`);
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  for (const [name, open] of Object.entries(screens)) {
    await open(page, async (path) => void (await page.goto(`${url}/console${path}`)));
    await wait(SETTLE_MS); // not until the network is idle: a trace goes on listening for new steps
    await page.screenshot({ path: join(images, `console-${name}.png`) });
    console.log(`docs/images/console-${name}.png`);
  }
  await browser.close();
}
