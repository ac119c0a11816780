import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { hasChromium, openBrowser, skipReason } from "../support/chromium.ts";
import { openConsole } from "../support/console.ts";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

const columns = [
  { name: "question", type: "text" as const },
  { name: "facts", type: "json" as const },
];

async function storedRows(server: Server, slug = "quiz"): Promise<unknown[]> {
  const fields = "key name values idealOutput metadata";
  return (await server.run(`{ dataset(slug: "${slug}") { rows(first: 100) { nodes { ${fields} } } } }`)).rows;
}

/** Drops a file onto the rows, as a drag from the desktop does. */
async function drop(page: Page, name: string, content: string | Buffer): Promise<void> {
  const bytes = JSON.stringify([...Buffer.from(content)]);
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(${bytes})], ${JSON.stringify(name)}));
    return transfer;
  })()`);
  const target = page.getByRole("grid", { name: "Rows" });
  await target.dispatchEvent("dragover", { dataTransfer: transfer });
  await target.dispatchEvent("drop", { dataTransfer: transfer });
}

describe.skipIf(!hasChromium)(`files of datasets in the console in Chromium${skipReason}`, () => {
  it("imports CSV that is dropped, and says which rows were refused", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz`);
    const file = [
      "key;question;facts:json;idealOutput;metadata;unknown",
      'ke;"Which capital,\n is ""big""?";{"people": 5};Nairobi;{"by": "me"};x',
      "pe;What?;not JSON;Lima;;",
      "",
      "ca;json:7;;;;",
      "xx;a;1;b;;;too many",
      'qu;"open" end;;;;',
      'em;"";"";"";"";""',
    ].join("\r\n");
    await drop(page, "quiz.csv", file);
    await page.getByText("3 rows stored, 3 rows refused.").waitFor();
    await page.getByText("Row 2: “facts” is not valid JSON.").waitFor();
    await page.getByText("Row 4: It has more cells than the first line.").waitFor();
    await page.getByText("Row 5: Something stands behind a closing quotation mark.").waitFor();
    await page.getByText(/unknown/).waitFor();
    expect(await storedRows(server)).toEqual([
      {
        ...{ key: "ke", name: null, idealOutput: "Nairobi", metadata: { by: "me" } },
        values: { question: 'Which capital,\n is "big"?', facts: { people: 5 } },
      },
      { key: "ca", name: null, idealOutput: null, metadata: null, values: { question: 7 } },
      { key: "em", name: null, idealOutput: "", metadata: null, values: { question: "" } },
    ]);
    await page.getByRole("grid", { name: "Rows" }).getByText("Nairobi").waitFor();
    expect(complaints).toEqual([]);
  });

  it("stores nothing of a file that is not UTF-8, which would come with other letters", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz`);
    await drop(page, "quiz.csv", Buffer.from("question\r\nOù est né Molière?\r\n", "latin1"));
    await page
      .getByText('The file is not UTF-8. Save it as UTF-8 (in a spreadsheet: "CSV UTF-8").')
      .waitFor();
    expect(await storedRows(server)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("stores nothing of CSV with one column under two headings, of which it would keep one", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz`);
    for (const [name, file] of [
      ["question", "question,facts,question\nWhich?,1,What?\n"],
      ["facts", "facts,question,values.facts:json\n1,Which?,2\n"],
      ["key", "key,question,key\na,Which?,b\n"],
    ] as const) {
      await drop(page, "quiz.csv", file);
      await page.getByText(`The column “${name}” stands there twice.`).waitFor();
    }
    await drop(page, "quiz.csv", "key,values.key,question\na,b,Which?\n"); // a field, and a column of its name
    await page.getByText("1 row stored.").waitFor();
    expect(await storedRows(server)).toMatchObject([{ key: "a", values: { question: "Which?" } }]);
  });

  it("imports JSON Lines that are chosen, in several slices, also of letters that a slice cuts", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz`);
    const question = "é".repeat(3_001);
    const lines = Array.from({ length: 99 }, (_, n) =>
      JSON.stringify({ key: `k${n}`, values: { question } }),
    );
    const text = [
      JSON.stringify({ dataset: { slug: "other" } }),
      ...lines,
      "no JSON",
      '{"question":"plain"}',
    ];
    await page.getByLabel("CSV or JSON Lines").setInputFiles({
      ...{ name: "quiz.jsonl", mimeType: "application/jsonl" },
      buffer: Buffer.from(text.join("\n")),
    });
    await page.getByText("100 rows stored, 1 row refused.").waitFor();
    await page.getByText("Row 101: It is not valid JSON.").waitFor();
    const rows = (await storedRows(server)) as { values: unknown }[];
    expect(
      rows.slice(0, 99).every(({ values }) => (values as { question: string }).question === question),
    ).toBe(true);
    expect(rows[99]?.values).toEqual({ question: "plain" });
  });

  it("stores a batch once whose answer is lost", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz`);
    await page.getByText("No rows yet").waitFor();
    let batches = 0;
    await page.route("**/graphql", async (route) => {
      if (route.request().postData()?.includes("mutation AddRows")) batches += 1;
      if (batches !== 1) return route.continue();
      await route.fetch(); // it is stored, but its answer never arrives
      await route.abort();
    });
    await drop(page, "quiz.csv", "question\none\ntwo\n");
    await page.getByText("2 rows stored.").waitFor();
    expect([batches, (await storedRows(server)).length]).toEqual([2, 2]);
  });

  it("shows how far an import is, and stops it", async () => {
    await using server = await startServer({ console: true });
    await addDataset(server, { slug: "quiz", columns });
    await using browser = await openBrowser();
    const { page } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz`);
    await page.getByText("No rows yet").waitFor();
    const second = Promise.withResolvers<void>();
    let batches = 0;
    await page.route("**/graphql", async (route) => {
      if (route.request().postData()?.includes("mutation AddRows")) batches += 1;
      if (batches === 2) await second.promise;
      await route.continue();
    });
    const rows = Array.from({ length: 1_000 }, (_, n) => `question ${n}`);
    await drop(page, "many.csv", `question\n${rows.join("\n")}\n`);
    await page.getByText("many.csv: 200 rows").waitFor();
    await page.getByRole("progressbar", { name: "Import of many.csv" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    second.resolve();
    await page.getByText("Cancelled. 400 rows stored.").waitFor();
    expect(await server.run('{ dataset(slug: "quiz") { rowCount } }')).toEqual({ rowCount: 400 });
    await page.getByText("400 rows", { exact: true }).waitFor();
  });

  it.each(["CSV", "JSON Lines"])("exports %s that imports as the same rows", async (format) => {
    await using server = await startServer({ console: true });
    const odd = [
      ...columns,
      { name: "key", type: "text" as const },
      { name: "a:json", type: "text" as const },
      { name: "constructor", type: "text" as const }, // in which no row has a value
    ];
    const rows = [
      {
        values: { question: 'a "quoted",\nline', facts: { n: [1, null] }, key: "the column", "a:json": "x" },
        ...{ idealOutput: "yes", metadata: { by: "me" } },
      },
      { values: { question: "json:text", facts: "json:7" } },
      { values: { question: "", facts: "" }, idealOutput: "" },
      { values: { key: null }, idealOutput: null },
      ...Array.from({ length: 700 }, (_, n) => ({ values: { question: `question ${n}` } })),
    ];
    await addDataset(server, { slug: "quiz", columns: odd, rows });
    await using browser = await openBrowser();
    const { page, complaints } = await openConsole(server, await browser.newContext());
    await page.goto(`${server.url}/console/datasets/quiz?dialog=export`);
    await page.getByLabel("Format").selectOption(format);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the file" }).click();
    const saved = await download;
    expect(saved.suggestedFilename()).toMatch(/^quiz-v\d+\.(csv|jsonl)$/);
    const path = await saved.path();
    const before = await storedRows(server);
    await addDataset(server, { slug: "copy", columns: odd });
    await page.goto(`${server.url}/console/datasets/copy`);
    await page.getByLabel("CSV or JSON Lines").setInputFiles({
      ...{ name: saved.suggestedFilename(), mimeType: "text/plain" },
      buffer: await readFile(path),
    });
    await page.getByText("704 rows stored.").waitFor();
    expect(await storedRows(server, "copy")).toEqual(before);
    expect(complaints).toEqual([]);
  });
});
