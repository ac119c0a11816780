import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { addDataset } from "../support/data.ts";
import { payloads } from "../support/payloads.ts";
import { type Server, startServer } from "../support/server.ts";

/** Lists show each text alone. A screen takes half a second of a processor, so those of a prompt or a log show four together. */
const groups = payloads.flatMap((_, n) => (n % 4 === 0 ? [payloads.slice(n, n + 4).join(" ")] : []));

/** Stores texts wherever a screen shows one. */
async function store(server: Server): Promise<void> {
  const rows = payloads.map((text) => ({ values: { [text]: text }, idealOutput: text }));
  const columns = payloads.map((name) => ({ name, type: "text" as const }));
  await addDataset(server, { slug: "texts", name: payloads.join(" "), columns, rows });
  const make = "mutation ($input: CreatePromptInput!) { createPrompt(input: $input) { prompt { slug } } }";
  const write =
    "mutation ($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { promptVersion { id } } }";
  for (const [n, text] of [...groups, ...payloads].entries()) {
    const slug = `p-${n}`;
    const name = text.slice(0, 256);
    const plain = text.replaceAll("{{", "{ {");
    expect(await server.run(make, { input: { slug, name, description: text } })).toEqual({ slug });
    for (const version of ["1", "2"])
      expect(
        await server.run(write, { slug, input: { version, text: plain + version, systemText: plain } }),
      ).not.toHaveProperty("error");
    await server.post("/monitor/log", {
      ...{ slug: name, name, input: text, output: text, metadata: { [text]: text } },
      ...{ user: { id: name, name }, variables: [{ label: text, value: text }] },
    });
  }
}

describe.skipIf(!hasChromium)(`stored scripts in the console in Chromium${skipReason}`, () => {
  it("run on no screen, and load nothing", { timeout: 120_000 }, async () => {
    await using server = await startServer({ console: true });
    await store(server);
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 1400, height: 2_000 } });
    const ran: string[] = [];
    context.on("dialog", (dialog) => {
      ran.push(dialog.message());
      void dialog.dismiss().catch(() => {});
    });
    const origins = new Set<string>();
    context.on("request", (request) => origins.add(new URL(request.url()).origin));
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && ran.push(message.text()));
    await page.goto(`${server.url}/console/sign-in?next=${encodeURIComponent("//127.0.0.2/evil")}`);
    await page.getByLabel("Access token").fill(server.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const logs = await server.run("{ logs(first: 100) { nodes { id } } }");
    const changes = await server.run("{ auditLog(first: 5) { nodes { id } } }");
    const prompts = groups.flatMap((_, n) => [`/prompts/p-${n}`, `/prompts/p-${n}?view=compare`]);
    const lists = [
      "/prompts",
      "/datasets",
      "/datasets/texts",
      "/logs",
      "/overview",
      "/usage?by=user",
      ...changes.map(({ id }: { id: string }) => `/audit?entry=${id}`),
    ];
    expect(logs).toHaveLength(groups.length + payloads.length);
    const oldest = logs.slice(-groups.length); // those of four texts
    const details = oldest.map(({ id }: { id: string }) => `/logs/${id}`);
    for (const path of [...lists, ...prompts, ...details]) {
      await page.goto(`${server.url}/console${path}`);
      // All payloads have these letters; icons and headings are there before what was stored is shown.
      const shown = page.locator("main :is(td, pre, [role=gridcell])").filter({ hasText: "lert(" });
      await shown.first().waitFor();
    }
    expect(ran).toEqual([]);
    expect([...origins].filter((origin) => origin !== "null")).toEqual([server.url]);
  });
});
