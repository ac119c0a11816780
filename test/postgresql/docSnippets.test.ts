import { expect, test } from "vitest";
import { needsPostgresql, openReader } from "../support/docsReader.ts";
import { newPostgresqlDatabase } from "../support/server.ts";
import { readingOrder, readPage, snippetsOf } from "../support/snippets.ts";

test("every snippet of the documents that needs a PostgreSQL database works as it stands", async () => {
  const pages = await Promise.all(
    (await readingOrder()).map(async (page) => snippetsOf(page, await readPage(page))),
  );
  const concerned = pages.filter((snippets) => snippets.some(needsPostgresql));
  expect(concerned.length).toBeGreaterThan(0);
  for (const snippets of concerned) {
    const database = await newPostgresqlDatabase("bare");
    await using reader = await openReader({ postgresqlUrl: database.url });
    await reader.follow(snippets);
    await database.drop();
  }
}, 60_000);
