import { describe, expect, it } from "vitest";
import { createSignInLink } from "../../src/console/links.resolvers.ts";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

describe("the pages of the console", () => {
  it("are one page for every address, which runs no inline code and loads nothing from elsewhere", async () => {
    await using server = await startServer({ console: true });
    for (const path of ["/console", "/console/prompts/any", "/console/start"]) {
      const { status, headers, body } = await server.get(path, { token: null, headers: HTML });
      expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
      expect(headers["content-security-policy"]).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      );
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(body.match(/<script[^>]*>[^<]+|<style|\son\w+=|https?:/g)).toBeNull();
    }
  });

  it("are not for programs, and a browser that opens the address of the server is led to them", async () => {
    await using server = await startServer({ console: true });
    expect((await server.get("/console", { token: null })).body.code).toBe("ROUTE_NOT_FOUND");
    expect((await server.get("/", { token: null })).body.code).toBe("ROUTE_NOT_FOUND");
    const led = await server.get("/", { token: null, headers: HTML });
    expect([led.status, led.headers.location]).toEqual([302, "/console"]);
  });

  it("name only files that exist, which are compressed and may be kept for ever", async () => {
    await using server = await startServer({ console: true });
    const { body } = await server.get("/console", { token: null, headers: HTML });
    const paths: string[] = body.match(/\/console\/assets\/[\w.-]+/g);
    expect(paths.length).toBeGreaterThan(2);
    for (const path of paths) {
      const { status, headers } = await fetch(server.url + path, { headers: { "accept-encoding": "br" } });
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      if (path.endsWith(".js")) expect(headers.get("content-encoding")).toBe("br");
    }
    expect((await server.get("/console/assets/..%2findex.html", { token: null })).status).toBe(404);
  });

  it("are left out by CONSOLE=false", async () => {
    await using server = await startServer({ console: false });
    expect((await server.get("/console", { token: null, headers: HTML })).status).toBe(404);
    expect((await server.get("/", { token: null, headers: HTML })).status).toBe(200);
  });
});

describe.skipIf(!hasChromium)(`the console in Chromium${skipReason}`, () => {
  it("renders a prompt while its variables are filled in", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide?version=1.1.0`);
    await page.getByLabel("country").fill("Chad");
    await page.getByLabel("Try it").getByText("Country: Chad").waitFor();
    expect(complaints).toEqual([]);
  });

  it("shows what another version makes of the latest calls, the largest difference first", async () => {
    await using server = await startServer({ console: true, sample: true });
    for (const [n, country] of ["Chad", "Peru"].entries())
      await server.post("/monitor/log", {
        ...{ slug: "country-guide", tag: "production", output: "An answer." },
        ...{ inputTokens: 1_000, outputTokens: 10 + 500 * n, cost: (2 * 1_000 + 8 * (10 + 500 * n)) / 1e6 },
        variables: [{ label: "country", value: country }],
      });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide?version=1.1.0&from=1.0.0`);
    await page.getByRole("link", { name: "Impact" }).click();
    await page.getByLabel("Compare from").selectOption("1.0.0");
    const summary = page.getByRole("region", { name: /rendered with 1.1.0 instead of 1.0.0/ });
    await expect
      .poll(() => summary.innerText())
      .toMatch(/Rendered\s+2\s+Would change\s+2\s+With empty variables\s+2/);
    const aDay = page.getByRole("region", { name: "A day" });
    await expect
      .poll(() => aDay.innerText())
      .toMatch(/Calls a day\s+0\.3\s+Tokens a day\s+[+−]\d+\s+Cost a day\s+[+−]\$0\.\d+/);
    await aDay.getByText("An estimate").waitFor();
    const call = page.getByRole("table", { name: "What the call would have sent" });
    expect(await call.innerText()).toMatch(/Answer this question about (Chad|Peru).*Country: \1/s);
    expect(complaints).toEqual([]);
  });

  it("finds a log by its words, shows new ones as they arrive, and runs nothing of what models wrote", async () => {
    await using server = await startServer({ console: true, sample: true });
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    for (const output of ["The zip is broken.", "The tent is fine.", hostile])
      await server.post("/monitor/log", { slug: "country-guide", input: "a question", output });
    await using browser = await openBrowser();
    const { page, complaints, origins } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/logs`);
    const logs = page.getByRole("region", { name: "Logs", exact: true });
    await logs.getByText(hostile).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("broken zip");
    await logs.getByText("The tent is fine.").waitFor({ state: "hidden" });
    await page.keyboard.press("Enter");
    expect(await logs.locator("tbody tr").count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("q")).toBe("broken zip");
    await logs.getByText("The zip is broken.").click();
    await page.getByRole("region", { name: "Output" }).getByText("The zip is broken.").waitFor();
    await page.goBack();
    await logs.getByText("The zip is broken.").waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("broken zip");

    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("button", { name: "Live" }).click();
    await page.getByText("New logs appear here").waitFor();
    await expect.poll(() => server.database.pubSub.count()).toBe(1);
    await server.post("/monitor/log", { slug: "country-guide", output: "It arrived just now." });
    await page.getByRole("region", { name: "New logs" }).getByText("It arrived just now.").waitFor();
    expect(await page.title()).toBe("Logs · Gabbro");
    expect(complaints).toEqual([]);
    expect(origins()).toEqual([server.url]);
  });

  it("goes, searches and acts by the palette and the keys alone", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
    const { page, complaints } = await openConsole(server, context);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("country g");
    await page.getByRole("option", { name: /Country guide/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /Country guide/ }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("link", { name: "Country quiz" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("curl");
    await page.keyboard.press("Enter");
    await page.getByText("The queries are copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(
      /^curl -s "http:\/\/127\.0\.0\.1:\d+\/graphql" .*-d '\{"query":"query Datasets\(/,
    );
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" }); // it has the focus until then
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Country quiz");
    await page.keyboard.press("Enter");
    await page.getByRole("grid", { name: "Rows" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("loads less than 200 kB of JavaScript for its first screen", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const context = await browser.newContext();
    const scripts = new Set<string>();
    context.on("request", (request) => request.url().endsWith(".js") && scripts.add(request.url()));
    await openConsole(server, context);
    const headers = { "accept-encoding": "gzip" };
    const sizes = await Promise.all(
      [...scripts].map(async (url) => {
        const response = await fetch(url, { headers });
        await response.body?.cancel();
        return Number(response.headers.get("content-length"));
      }),
    );
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(200_000);
  });

  it("shows its first screen after three round trips: the page, all that it names at once, and one query", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    const requests: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      const [, name] = /query (\w+)/.exec(request.postData() ?? "") ?? [];
      if (!/\.(css|svg)$/.test(pathname)) requests.push(name ?? pathname);
    });
    const html = await (await page.goto(`${server.url}/console`))!.text();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("Cost by day").waitFor();
    const named = [...html.matchAll(/\s(?:src|href)="([^"]+\.js|[^"]+session)"/g)].map(([, path]) => path);
    const rest = requests.filter((path) => path !== "LatestRejected");
    expect(rest.toSorted()).toEqual(["/console", ...named, "Overview"].toSorted());
    expect(complaints).toEqual([]);
  });

  it("renders only the rows in view of a dataset of thousands, and reads on while it is scrolled", async () => {
    await using server = await startServer({ console: true });
    const rows = Array.from({ length: 2_000 }, (_, n) => ({ values: { question: `Question ${n + 1}?` } }));
    const columns = [{ name: "question", type: "text" as const }];
    await addDataset(server, { slug: "many", columns, rows });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/many`);
    const grid = page.getByRole("grid", { name: "Rows" });
    await grid.getByText("Question 1?", { exact: true }).waitFor();
    await expect
      .poll(
        async () => {
          await grid.evaluate((element: { scrollTop: number; scrollHeight: number }) => {
            element.scrollTop = element.scrollHeight;
          });
          return grid.getByText("Question 2000?").count();
        },
        { timeout: 60_000 },
      )
      .toBe(1);
    expect(await grid.getByRole("row").count()).toBeLessThan(80);
  });

  it("edits, adds and deletes rows of a dataset by the keyboard", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/country-quiz`);
    const grid = page.getByRole("grid", { name: "Rows" });
    await grid.getByRole("gridcell").first().waitFor();
    await grid.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByLabel("Value").fill("La France");
    await page.keyboard.press("Enter");
    const stored = async (): Promise<{ id: string; values: Record<string, string>; idealOutput: string }[]> =>
      (await server.run('{ dataset(slug: "country-quiz") { rows { nodes { id values idealOutput } } } }'))
        .rows;
    await expect.poll(async () => (await stored())[0]?.idealOutput).toBe("La France");
    const [first, second, ...others] = await stored();
    expect(second).toBeDefined();
    await page.keyboard.press("Delete"); // Enter went on to the second row
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect.poll(stored).toEqual([first, ...others]);
    await page.getByText(`${1 + others.length} rows`).waitFor();
    await page.getByRole("button", { name: "Add row" }).click();
    await page.keyboard.type("Which sea is salty?");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText(`${2 + others.length} rows`).waitFor();
    const added = (await stored()).slice(1 + others.length);
    expect(added.map(({ values }) => Object.values(values).filter(Boolean))).toEqual([
      ["Which sea is salty?"],
    ]);
    await grid.getByText("Which sea is salty?").waitFor();
    expect(complaints).toEqual([]);
  });

  it("loses no text when an answer is lost, and a second attempt stores it once", async () => {
    await using server = await startServer({ console: true, sample: true });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/prompts/country-guide?view=edit`);
    const text = page.getByLabel("Text", { exact: true });
    await text.fill("A text that took an hour: {{country}}");
    await page.route("**/graphql", async (route) => {
      const isSave = route.request().postData()?.includes("mutation");
      if (isSave) await route.fetch(); // it is stored, but its answer never arrives
      await (isSave ? route.abort() : route.continue());
    });
    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByText("Nothing of what you typed is lost.").waitFor();
    expect(await text.inputValue()).toBe("A text that took an hour: {{country}}");
    await page.unroute("**/graphql");
    await page.getByRole("button", { name: "Create version" }).click();
    await page.getByText("Version 1.1.1 is stored").waitFor();
    const versions = await server.run('{ prompt(slug: "country-guide") { availableVersions } }');
    expect(versions.availableVersions.filter((version: string) => version === "1.1.1")).toHaveLength(1);
  });

  it("signs in by a link once, keeps its code out of the history, and signs out when the token is revoked", async () => {
    await using server = await startServer({ console: true, sample: true });
    const code = await createSignInLink(server.database, server.token);
    await using browser = await openBrowser();
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${server.url}/console/start#${code}`);
    await page.waitForURL(/overview/);
    expect(await page.evaluate("JSON.stringify(localStorage) + document.cookie")).toBe("{}");
    await page.goBack();
    expect(page.url()).toBe("about:blank");

    await page.goto(`${server.url}/console/tokens`);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("this ends your session, too").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.waitForURL(/sign-in/);
    expect((await server.get("/prompts")).status).toBe(401);
  });
});
