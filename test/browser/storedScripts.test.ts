import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hasChromium, openBrowser, openDocs, skipReason } from "../support/chromium.ts";
import { addDataset } from "../support/data.ts";
import { payloads } from "../support/payloads.ts";
import { type Server, startServer } from "../support/server.ts";

const SETTLED_MS = 100;
const TIMEOUT_MS = 120_000;

/** Pages of one browser, and the scripts that ran in any of them. */
async function openPages(browser: Awaited<ReturnType<typeof openBrowser>>, headers = {}) {
  const context = await browser.newContext({
    viewport: { width: 1400, height: 5_000 },
    extraHTTPHeaders: headers,
  });
  const ran: string[] = [];
  context.on("dialog", (dialog) => {
    ran.push(dialog.message());
    void dialog.dismiss().catch(() => {});
  });
  return { context, ran };
}

/** Opens addresses as a person would who was sent them; some are answered with a file to be saved. */
async function visit(context: BrowserContext, urls: string[]): Promise<void> {
  const rest = urls.values();
  const visitor = async () => {
    const page = await context.newPage();
    for (const url of rest) {
      if (url.includes("#")) await page.goto("about:blank"); // else nothing would be loaded
      await page.goto(url, { waitUntil: "commit" }).catch((error: Error) => {
        if (!/Download is starting|ERR_ABORTED/.test(error.message)) throw error;
      });
      await page.waitForTimeout(SETTLED_MS);
    }
  };
  await Promise.all(Array.from({ length: 4 }, visitor));
}

/** Stores each text wherever the service takes one. */
async function store(server: Server): Promise<void> {
  const rows = payloads.map((text) => ({
    values: { [text]: text },
    idealOutput: text,
    metadata: { [text]: text },
  }));
  const columns = payloads.map((name) => ({ name, type: "text" as const }));
  await addDataset(server, { slug: "texts", name: payloads.join(" "), columns, rows });
  for (const [n, text] of payloads.entries()) {
    const about = { slug: `p-${n}`, name: text, description: text };
    const create =
      "mutation ($slug: String!, $name: String!, $description: String) { createPrompt(input: { slug: $slug, name: $name, description: $description }) { prompt { slug } } }";
    expect(await server.run(create, about)).toEqual({ slug: about.slug });
    const version = { slug: about.slug, input: { version: "1", text: text.replaceAll("{{", "{ {") } };
    const add =
      "mutation ($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { warnings { message } } }";
    expect(await server.run(add, version)).not.toHaveProperty("error");
    const { status } = await server.post("/monitor/log", logOf(text));
    expect(status).toBe(200);
  }
}

const logOf = (text: string) => ({
  ...{ slug: text, name: text, input: text, output: { [text]: text }, metadata: { [text]: text } },
  ...{ version: text, tag: text, user: { id: text, name: text } },
});

const asked = {
  Prompts: "query Prompts { prompts(first: 60) { nodes { name description } } }",
  Versions: "query Versions { prompts(first: 60) { nodes { versions { nodes { text } } } } }",
  Rows: 'query Rows { dataset(slug: "texts") { name rows { nodes { values idealOutput metadata } } } }',
  Logs: "query Logs { logs(first: 60) { nodes { output trace { name } } } }",
  Refused: `query Refused { describePrompt(slug: ${JSON.stringify(payloads[0])}) { name } }`,
  Added: "subscription Added { logAdded { output trace { name } } }",
};

/** Opens the playground with a tab for each. */
async function openPlayground(page: Page, { url, token }: Server): Promise<void> {
  const empty = { variables: null, headers: null, operationName: null, response: null };
  const tabs = Object.entries(asked).map(([title, query], n) => ({
    ...empty,
    ...{ id: `${n}`, hash: `${n}`, title, query },
  }));
  const state = JSON.stringify({ tabs, activeTabIndex: 0 });
  await page.addInitScript(`localStorage.setItem("graphiql:tabState", ${JSON.stringify(state)})`);
  await page.goto(`${url}/graphql`);
  await page.getByLabel("Access token").fill(token);
}

async function runTab(page: Page, title: string, { database }: Server): Promise<void> {
  await page.getByRole("tab", { name: title }).click();
  await page.locator(".graphiql-query-editor .view-lines").getByText(title, { exact: true }).waitFor();
  // Again when nothing came: GraphiQL takes no run in the first moments after a tab opens.
  await vi.waitFor(
    async () => {
      await page.getByRole("button", { name: /^Execute query/ }).click();
      if (title === "Added")
        await vi.waitFor(() => expect(database.pubSub.count()).toBe(1), { timeout: 3_000 });
      else
        await page
          .locator(".result-window .view-lines")
          .getByText(/alert\(\d+\)/)
          .first()
          .waitFor({ timeout: 3_000 });
    },
    { timeout: 20_000 },
  );
  await page.waitForTimeout(SETTLED_MS);
}

const title = `in Chromium${skipReason}, no text that was stored runs as a script`;

describe.skipIf(!hasChromium)(title, { timeout: TIMEOUT_MS }, () => {
  let server: Server;
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer(), openBrowser()]);
    await store(server);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  it("is seen by this test when it does, in a page that takes it for its own", async () => {
    const careless = createServer((_, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(`<!doctype html><p>${payloads.slice(11, 19).join("")}${payloads[0]}`);
    });
    await once(careless.listen(0, "127.0.0.1"), "listening");
    const { context, ran } = await openPages(browser);
    const { port } = careless.address() as AddressInfo;
    await visit(context, [`http://127.0.0.1:${port}/`]);
    await expect.poll(() => new Set(ran).size).toBeGreaterThan(5);
    await context.close();
    careless.close();
  });

  it("in GraphiQL, with what a query answers, what a subscription sends and what is refused", async () => {
    const { context, ran } = await openPages(browser);
    const page = await context.newPage();
    await openPlayground(page, server);
    for (const title of Object.keys(asked)) await runTab(page, title, server);
    for (const text of payloads) await server.post("/monitor/log", logOf(text));
    await page.locator(".result-window .view-lines").getByText("alert(52)").first().waitFor();
    await context.close();
    expect(ran).toEqual([]);
  });

  it("in the page of the REST interface, with what it answers", async () => {
    const { context, ran } = await openPages(browser);
    const page = await context.newPage();
    await openDocs(page, server);
    for (const [operation, slug] of [["datasets-dataset", "texts"], ["prompts-prompts"]] as const) {
      const block = page.locator(`#operations-${operation}`);
      await block.locator(".opblock-summary").click();
      await block.getByRole("button", { name: "Try it out" }).click();
      if (slug) await block.getByPlaceholder("slug").fill(slug);
      await block.getByRole("button", { name: "Execute" }).click();
      await block.locator(".live-responses-table").getByText("alert(1)").first().waitFor();
      await page.waitForTimeout(SETTLED_MS);
    }
    await context.close();
    expect(ran).toEqual([]);
  });

  it("in answers that are opened by their addresses, with a token or without one", async () => {
    const bearer = { authorization: `Bearer ${server.token}` };
    const query = (text: string) => `/graphql?query=${encodeURIComponent(text)}`;
    const stored = [
      ...[
        "/datasets/texts",
        "/datasets",
        "/prompts",
        "/prompts/p-0",
        "/prompts/p-0/describe",
        "/openapi.json",
      ],
      query("{ prompts(first: 60) { nodes { name description versions { nodes { text } } } } }"),
      query("{ logs(first: 60) { nodes { input output metadata } } }"),
    ];
    for (const headers of [bearer, {}]) {
      const { context, ran } = await openPages(browser, headers);
      await visit(
        context,
        stored.map((path) => server.url + path),
      );
      await context.close();
      expect(ran).toEqual([]);
    }
    const { context, ran } = await openPages(browser, { ...bearer, accept: "text/event-stream" });
    const opened = visit(context, [
      server.url + query("subscription { logAdded { output trace { name } } }"),
    ]);
    await expect.poll(() => server.database.pubSub.count()).toBeGreaterThan(0);
    for (const text of payloads) await server.post("/monitor/log", logOf(text));
    await opened;
    await context.close();
    expect(ran).toEqual([]);
  });

  it("in pages that say that something is wrong, with the text in the address itself", async () => {
    const { context, ran } = await openPages(browser, { authorization: `Bearer ${server.token}` });
    const places = [
      "/",
      "/datasets/",
      "/prompts/",
      "/docs/",
      "/docs?url=",
      "/docs#",
      "/graphql?query=",
      "/graphql#",
    ];
    const paths = payloads.map((text, n) => places[n % places.length] + encodeURIComponent(text));
    for (const place of places) paths.push(place + payloads[11]);
    await visit(
      context,
      paths.map((path) => server.url + path),
    );
    await context.close();
    expect(ran).toEqual([]);
  });
});
