import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { type Gateway, headers, prepareDatabase, startGateway, TOKEN } from "../../faults/gateway.ts";
import { newDatabase } from "../support/bareDatabase.ts";

const HEAP_MB = 512;
const READERS = 40;

/** A character beyond Latin-1 doubles what the text takes in memory. */
const text = `${"x".repeat(489_999)}\u4e2d`;

/** Less than the answer, as its first bytes were read with its head, and more than buffers of the operating system hold. */
const partOf = (fields: number) => (fields - 1) * text.length;

async function post({ url }: Gateway, query: string, variables = {}) {
  const body = JSON.stringify({ query, variables });
  const response = await fetch(`${url}/graphql`, { method: "POST", headers, body });
  const { data, errors } = await response.json();
  expect(errors).toBeUndefined();
  return data;
}

/** Of so many clients, who read the heads of their answers and nothing more, those that were closed. */
async function answerWithoutReading({ url }: Gateway, fields: number, queryOf: (reader: number) => string) {
  const readers: Socket[] = [];
  for (let n = 0; n < READERS; n++) {
    const body = JSON.stringify({ query: queryOf(n) });
    const reader = connect(Number(new URL(url).port), "127.0.0.1");
    reader.on("error", () => {}); // it is closed while it is answered
    reader.write(
      `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const ended = once(reader, "close").then(() => ["closed"]);
    const [head] = await Promise.race([once(reader, "data"), ended]);
    expect(`${head}`.startsWith("HTTP/1.1 200")).toBe(true);
    reader.pause();
    readers.push(reader);
  }
  return {
    closed: async () => {
      for (const reader of readers) reader.resume();
      const lengths = await Promise.all(
        readers.map(async (reader) => {
          let bytes = 0;
          reader.on("data", (chunk) => {
            bytes += chunk.length;
            if (bytes > partOf(fields)) reader.destroy();
          });
          await once(reader, "close");
          return bytes;
        }),
      );
      return lengths.filter((bytes) => bytes < partOf(fields)).length;
    },
  };
}

test("answers that nobody reads do not fill the memory, and one that all are sent counts once", async () => {
  await using database = await newDatabase();
  await prepareDatabase(database.databaseUrl);
  const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` };
  const gateway = await startGateway({ ...database, env });
  try {
    await post(gateway, 'mutation { createPrompt(input: { slug: "long" }) { __typename } }');
    const create =
      'mutation($input: PromptVersionInput!) { createPromptVersion(slug: "long", input: $input) { __typename } }';
    await post(gateway, create, { input: { version: "1.0.0", text } });
    const queryOf = (fields: number, first: string) => {
      const names = [first, ...Array.from({ length: fields - 1 }, (_, n) => `a${n}`)];
      return `{ ${names.map((name) => `${name}: servedPrompt(slug: "long", version: "1.0.0") { text }`)} }`;
    };
    const same = await answerWithoutReading(gateway, 10, () => queryOf(10, "same"));
    expect(await same.closed()).toBe(0);
    const own = await answerWithoutReading(gateway, 20, (n) => queryOf(20, `own${n}`));
    const closed = await own.closed();
    expect(closed).toBeGreaterThan(READERS / 2);
    expect(closed).toBeLessThan(READERS);
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(200);
  } finally {
    await gateway.kill();
  }
});
