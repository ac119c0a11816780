import { expect, test } from "vitest";
import { addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";

/** Different words of one letter each, which have four bytes: with eight more for their workspace, 1.08 MB. */
const letters = Array.from({ length: 0x32000 - 0x10000 }, (_, n) => String.fromCodePoint(0x10000 + n))
  .filter((one) => /^\p{L}$/u.test(one) && one === one.toLowerCase())
  .slice(0, 90_000);
const half = letters.length / 2;

test("a log with more words than a tsvector can address is found by those that fit, and has none of another workspace", async () => {
  await using server = await startServer();
  const other = await addWorkspace(server, "other");
  const [input, output] = [letters.slice(0, half).join(" "), letters.slice(half).join(" ")];
  const { body } = await server.post("/monitor/log", { slug: "x", input, output });
  const idsOf = async (text: string, token = server.token) => {
    const query = "query ($text: String!) { logs(filter: { text: $text }) { nodes { id } } }";
    const found = await server.graphql(query, { text }, { token });
    return found.body.data.logs.nodes.map(({ id }: { id: string }) => id);
  };
  expect(letters).toHaveLength(90_000);
  for (const word of [letters[0]!, letters[30_000]!, letters[half]!, letters[half + 30_000]!]) {
    expect(await idsOf(word)).toEqual([body.log.id]);
    expect(await idsOf(word, other.token)).toEqual([]);
  }
  const foreign = `select count(*) as count from log_texts, unnest(tsvector_to_array(log_lexemes(workspace_id, body))) as lexeme
    where left(lexeme, 8) <> right(cast(workspace_id as text), 8)`;
  expect(await server.database.orm.em.fork().execute(foreign)).toEqual([{ count: 0 }]);
});
