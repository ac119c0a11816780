import type { Page, Request } from "playwright-core";
import { describe, expect, it, vi } from "vitest";
import { readAsset } from "../../src/graphiql/assets.ts";
import { examples } from "../../src/graphiql/examples.ts";
import { hasChromium, openBrowser, openDocs, skipReason } from "../support/chromium.ts";
import { startServer } from "../support/server.ts";

describe("the playground page", () => {
  it("has a policy of its own and no inline script", async () => {
    await using server = await startServer({ sample: true });
    const response = await fetch(`${server.url}/graphql`, { headers: { accept: "text/html" } });
    const html = await response.text();
    const policy = response.headers.get("content-security-policy");
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(policy).toContain("default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'");
    expect(policy).not.toContain("unsafe-eval");
    expect(html).toContain("<title>Gabbro</title>");
    expect(html.match(/<script[^>]*>[^<]+|\son\w+=|https?:/g)).toBeNull();
    expect(html.length).toBeLessThan(8_000);
  });

  it("names only assets that exist, and a browser may keep them for ever", async () => {
    await using server = await startServer({ sample: true });
    const urls = await listAssetUrls(server.url);
    expect(urls).toHaveLength(9);
    for (const url of urls) {
      const { status, headers } = await fetch(url);
      expect({ url, status }).toEqual({ url, status: 200 });
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });
});

it.for(["/graphql", "/docs/"])("the page %s may load nothing from elsewhere", async (path) => {
  await using server = await startServer();
  const response = await fetch(server.url + path, { headers: { accept: "text/html" } });
  expect(response.headers.get("content-type")).toMatch(/^text\/html/);
  const policy = response.headers.get("content-security-policy")!;
  expect(policy).toContain("default-src");
  const sources = policy.split(";").flatMap((directive) => directive.trim().split(" ").slice(1));
  const own = ["'self'", "'none'", "'unsafe-inline'", "data:"];
  expect(sources.filter((source) => !own.includes(source))).toEqual([]);
  expect(
    policy
      .split(";")
      .filter((directive) => directive.includes("script-src"))
      .join(),
  ).not.toContain("inline");
});

describe("without pages", () => {
  it("there is neither, both APIs are open, and the schema can be asked for", async () => {
    await using server = await startServer({ playground: false });
    const accept = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const page = await server.get("/graphql", { headers: accept });
    expect(page).toMatchObject({
      status: 404,
      body: { errors: [{ extensions: { code: "ROUTE_NOT_FOUND" } }] },
    });
    for (const path of ["/docs", "/docs/", "/docs/static/index.html", "/graphql/assets/boot.js"])
      expect(await server.get(path, { headers: accept })).toMatchObject({
        status: 404,
        body: { code: "ROUTE_NOT_FOUND" },
      });
    expect((await server.get("/openapi.json")).status).toBe(200);
    expect((await server.get("/graphql?query={__typename}", { headers: accept })).status).toBe(200);
    expect((await server.graphql("{ __schema { queryType { name } } }")).body.errors).toBeUndefined();
  });
});

describe("an asset", () => {
  it.for([
    { accept: "br, gzip", encoding: "br" },
    { accept: "gzip, deflate", encoding: "gzip" },
    { accept: "br;q=0, gzip;q=0.5", encoding: "gzip" },
    { accept: "*", encoding: "br" },
    { accept: "identity", encoding: null },
  ])("comes as $encoding when the browser accepts $accept", async ({ accept, encoding }) => {
    await using server = await startServer({ sample: true });
    const url = `${server.url}/graphql/assets/boot.js`;
    const response = await fetch(url, { headers: { "accept-encoding": accept } });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    expect(response.headers.get("vary")).toContain("Accept-Encoding");
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(await response.text()).toContain("renderYogaGraphiQL");
  });

  it("is unpacked once for all who accept no packing", async () => {
    expect(await readAsset("boot.js", "identity")).toBe(await readAsset("boot.js", "identity"));
  });

  it("is not sent again to a browser that has it", async () => {
    await using server = await startServer({ sample: true });
    const url = `${server.url}/graphql/assets/graphiql.css`;
    const etag = (await fetch(url)).headers.get("etag")!;
    expect(etag).toMatch(/^"[\w-]+"$/);
    const again = await fetch(url, { headers: { "if-none-match": `"other", ${etag}` } });
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
    const other = await fetch(url, { headers: { "if-none-match": '"other"' } });
    expect(other.status).toBe(200);
    await other.body?.cancel();
  });

  it("is asked for anew each time when its address does not name this version", async () => {
    await using server = await startServer({ sample: true });
    const response = await fetch(`${server.url}/graphql/assets/boot.css?v=older`);
    expect(response.headers.get("cache-control")).toBe("no-cache");
  });

  it.for(["nothing.js", "__proto__", "..%2fassets.ts"])("named %s does not exist", async (name) => {
    await using server = await startServer({ sample: true });
    expect((await fetch(`${server.url}/graphql/assets/${name}`)).status).toBe(404);
  });
});

describe("an example of the playground", () => {
  it.for(examples.filter(({ query }) => !query.startsWith("subscription")))(
    "runs on the sample: $query",
    async ({ query, variables }) => {
      await using server = await startServer({ sample: true });
      const response = await fetch(`${server.url}/graphql`, {
        method: "POST",
        headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
        body: JSON.stringify({ query, variables }),
      });
      const { data, errors } = (await response.json()) as { data: object; errors?: unknown };
      expect(errors).toBeUndefined();
      expect(Object.values(data)).not.toContain(null);
    },
  );
});

describe.skipIf(!hasChromium)(`in Chromium${skipReason}`, () => {
  it("the playground runs the dataset example with the token typed in and needs no other server", async () => {
    await using server = await startServer({ sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext({ viewport: { width: 1400, height: 1600 } });
    const origins = new Set<string>();
    context.on("request", (request) => origins.add(new URL(request.url()).origin));
    const page = await context.newPage();
    const complaints = collectComplaints(page);

    await page.goto(`${server.url}/graphql`);
    expect(await page.getByRole("tab").allInnerTexts()).toEqual(examples.map(nameOf));
    await page.getByLabel("Access token").fill(server.token);
    const request = await runTab(page, "ReadDataset");
    expect(await request.headerValue("authorization")).toBe(`Bearer ${server.token}`);
    await expect.poll(() => page.locator(".result-window").textContent()).toMatch(/"question":\s"/);

    await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
    await page.locator(".graphiql-doc-explorer").getByText("Mutation", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    expect([...origins].filter((origin) => origin !== "null")).toEqual([server.url]);
  });

  it("the page of the REST interface reads the sample with the token typed in and needs no other server", async () => {
    await using server = await startServer({ sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const origins = new Set<string>();
    context.on("request", (request) => origins.add(new URL(request.url()).origin));
    const page = await context.newPage();
    const complaints = collectComplaints(page);
    await openDocs(page, server);
    await page.locator("#operations-datasets-dataset").click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await page.getByPlaceholder("slug").fill("country-quiz");
    await page.getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table").getByText("Which country has this flag?").first().waitFor();
    expect(complaints).toEqual([]);
    expect([...origins].filter((origin) => origin !== "null")).toEqual([server.url]);
  });

  it("the playground completes field names and gives each example its variables", async () => {
    await using server = await startServer({ sample: true });
    await using browser = await openBrowser();
    const page = await browser.newPage();
    const complaints = collectComplaints(page);
    await page.goto(`${server.url}/graphql`);
    await page.getByLabel("Access token").fill(server.token);
    for (const example of examples) {
      const request = await runTab(page, nameOf(example));
      const asked = new URL(request.url()).searchParams.get("variables"); // of a subscription
      expect(asked ? JSON.parse(asked) : request.postDataJSON().variables).toEqual(example.variables);
    }
    await page.getByRole("button", { name: "New tab" }).click();
    await page.locator(".graphiql-query-editor .monaco-editor").first().click();
    await page.keyboard.type("query { describeP", { delay: 30 });
    await page.locator(".suggest-widget").getByText("describePrompt").first().waitFor();
    expect(complaints).toEqual([]);
  });

  it("the playground shows each log as it is added", async () => {
    await using server = await startServer({ sample: true });
    await using browser = await openBrowser();
    const page = await browser.newPage();
    const complaints = collectComplaints(page);
    await page.goto(`${server.url}/graphql`);
    await page.getByLabel("Access token").fill(server.token);
    await runTab(page, "WatchLogs");
    for (const output of ["the first answer", "the second answer"]) {
      await server.post("/monitor/log", { slug: "country-guide", output });
      await page.locator(".result-window").getByText(output).waitFor();
    }
    await page.getByRole("button", { name: /^Stop query/ }).click();
    await expect.poll(() => server.database.pubSub.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("the playground keeps its tabs and the token when it is loaded again, and sends no token for the schema", async () => {
    await using server = await startServer({ sample: true });
    await using browser = await openBrowser();
    const page = await browser.newPage();
    await page.goto(`${server.url}/graphql`);
    await page.getByLabel("Access token").fill(`Bearer ${server.token} `);
    await runTab(page, "AddRow");
    await expect
      .poll(() => page.evaluate("localStorage['graphiql:tabState']"))
      .toContain('"activeTabIndex":1');
    const [introspection] = await Promise.all([
      page.waitForRequest((request) => request.url().includes("introspection.json")),
      page.reload(),
    ]);
    expect(introspection.method()).toBe("GET");
    expect(await page.getByLabel("Access token").inputValue()).toBe(server.token);
    expect(await introspection.headerValue("authorization")).toBeNull();
    expect(await page.getByRole("tab").allInnerTexts()).toEqual(examples.map(nameOf));
    expect(await page.getByRole("tab", { selected: true }).allInnerTexts()).toEqual(["AddRow"]);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(server.token);
  });
});

async function listAssetUrls(url: string): Promise<string[]> {
  const response = await fetch(`${url}/graphql`, { headers: { accept: "text/html" } });
  const paths = (await response.text()).match(/graphql\/assets\/[\w.-]+\?v=[\w-]+/g) ?? [];
  return Array.from(new Set(paths), (path) => new URL(path, `${url}/graphql`).href);
}

/** Errors and warnings of the console, which is also where Chromium reports what the policy of a page forbids. */
function collectComplaints(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  return complaints;
}

async function runTab(page: Page, name: string): Promise<Request> {
  await page.getByRole("tab", { name }).click();
  await page.locator(".graphiql-query-editor .view-lines").getByText(name, { exact: true }).waitFor();
  const isWanted = (request: Request) =>
    (request.postData() ?? new URL(request.url()).searchParams.get("query"))?.includes(` ${name}(`) === true;
  // Again when nothing was sent: GraphiQL takes no run in the first moments after a tab opens.
  const [request] = await vi.waitFor(
    () =>
      Promise.all([
        page.waitForRequest(isWanted, { timeout: 1_000 }),
        page.getByRole("button", { name: /^Execute query/ }).click(),
      ]),
    { timeout: 60_000 },
  );
  await request.response();
  return request;
}

function nameOf({ query }: { query: string }): string {
  return query.match(/\w+ (\w+)/)![1]!;
}
