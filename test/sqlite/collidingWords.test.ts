import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { DISPUTED, WORDS } from "../../src/database/sqlite/unicode61.ts";
import { addLogs } from "../support/logs.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";

const OTHERS = "ordinary words ".repeat(600);

const isFound = async (server: Server, text: string) => {
  const logs = await server.run("query($text: String!) { logs(filter: { text: $text }) { nodes { id } } }", {
    text,
  });
  expect(logs).toBeInstanceOf(Array);
  return logs.length > 0;
};

const log = async (server: Server, output: string) =>
  expect(await server.post("/monitor/log", { slug: "s", output })).toMatchObject({ status: 200 });

const MAX_WORDS = 100;

/** Words that the hash table of FTS5 keeps in one slot as long as it has no more than 1,024. */
function wordsOfOneSlot(count: number): string[] {
  const words = new Map<number, string[]>();
  for (let n = 36 ** 4; ; n++) {
    const word = n.toString(36);
    let hash = 13;
    for (let at = word.length - 1; at >= 0; at--) hash = (hash << 3) ^ hash ^ word.charCodeAt(at);
    const slot = ((hash << 3) ^ hash) & 0x3ff;
    const found = words.get(slot) ?? [];
    words.set(slot, found);
    if (found.push(word) === count) return found;
  }
}

/** A half of a surrogate pair, whose escape in JSON begins like a word. */
const half = (n: number) => String.fromCharCode(0xd800 + n);

const ways = {
  "one log": (server: Server, words: string[]) => log(server, `${words.join(" ")} ${OTHERS}`),
  "words in capitals, and with letters of Western Europe": (server: Server, words: string[]) =>
    log(server, `${words.map((word, n) => (n % 2 ? word : word.toUpperCase())).join(" — ")} ${OTHERS}`),
  "words behind letters that JSON escapes": (server: Server, words: string[]) =>
    addLogs(server, 1, () => ({
      output: `${words.map((word, n) => `${half(n)}${word}`).join(" ")} ${OTHERS} ${half(0).repeat(200)}`,
    })),
  "logs of one commit": (server: Server, words: string[]) =>
    addLogs(server, words.length, (at) => ({ output: `${words[at]} ${OTHERS}` })),
  "logs of one trace": async (server: Server, words: string[]) => {
    const logs = words.map((word, at) => ({
      ...{ id: String(at), type: "generation", slug: "s" },
      output: at === 0 ? `${word} ${OTHERS}` : word,
    }));
    expect(await server.post("/monitor/trace", { name: "t", logs })).toMatchObject({ status: 200 });
  },
};

test.skipIf(isOnPostgresql).each(Object.entries(ways))(
  "on SQLite, of words that share a slot in the hash table of the full-text index, a search finds 100: %s",
  async (name, store) => {
    await using server = await startServer();
    const ofEurope = (word: string) => (name.includes("Western Europe") ? `${word}é` : word);
    const words = wordsOfOneSlot(MAX_WORDS + 5).map(ofEurope);
    await store(server, words);
    const some = [0, 1, MAX_WORDS - 1, MAX_WORDS, MAX_WORDS + 4].map((at) => words[at]!);
    const found = await Promise.all(["ordinary", ...some].map((word) => isFound(server, word)));
    expect(found).toEqual([true, true, true, true, false, false]);
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, of words with letters about which Node.js and the full-text index disagree, a search finds 500 characters",
  async () => {
    await using server = await startServer();
    const words = Array.from({ length: 2_000 }, (_, n) => `\u1c90w${1_000 + n}`); // Georgian of 2018
    await log(server, words.join(" "));
    for (const word of [words[0]!, words[82]!]) expect(await isFound(server, word)).toBe(true);
    for (const word of [words[83]!, words[1_999]!]) expect(await isFound(server, word)).toBe(false);
  },
);

test("the full-text index of SQLite has the words that its filter has, wherever the filter counts on it", () => {
  const database = new Database(":memory:");
  onTestFinished(() => void database.close());
  database.exec("create virtual table texts using fts5(text, tokenize='unicode61 remove_diacritics 0')");
  database.exec("create virtual table words using fts5vocab(texts, instance)");
  const insert = database.prepare("insert into texts (rowid, text) values (?, ?)");
  const expected: string[] = [];
  database.transaction(() => {
    for (let code = 1; code < 0x30000; code++) {
      const letter = String.fromCodePoint(code);
      if (DISPUTED.test(letter) || (code >= 0xd800 && code < 0xe000)) continue;
      const text = `a${letter}b ${letter}`;
      insert.run(code, text);
      for (const word of text.match(WORDS) ?? []) expected.push(`${code} ${word.toLowerCase()}`);
    }
  })();
  const words = database.prepare("select doc || ' ' || term from words order by doc, offset").pluck().all();
  expect(expected.length).toBeGreaterThan(100_000);
  expect(words).toEqual(expected);
});
