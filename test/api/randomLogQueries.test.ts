import { afterAll, expect, test } from "vitest";
import { toCursor } from "../../src/validation/pagination.ts";
import { addWorkspace } from "../support/data.ts";
import {
  addRandomLogs,
  below,
  ids,
  keys,
  maybe,
  oneOf,
  type Row,
  random,
  slugs,
  some,
  values,
  versions,
  word,
} from "../support/randomLogs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const rows = await addRandomLogs(server);
const other = await addWorkspace(server, "other");
for (const { promptSlug, output, startTime } of rows.slice(0, 200))
  await server.post("/monitor/log", { slug: promptSlug, output, startTime }, { token: other.token });

const newestFirst = rows.toSorted(
  (a, b) => b.startTime.getTime() - a.startTime.getTime() || (a.id < b.id ? 1 : -1),
);

/** Between the parts of a log, as no phrase runs over from one to the other. */
const BORDER = "theborderoftwoparts";

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const textsOf = (value: unknown): string[] =>
  typeof value === "object"
    ? Object.values(value ?? {}).flatMap(textsOf)
    : value === true
      ? []
      : [String(value)];
const bodies = new Map(
  rows.map(({ id, input, output }) => [
    id,
    wordsOf([...textsOf(input), BORDER, ...textsOf(output)].join("\n")),
  ]),
);

/** Searched words in a random spelling, with what they mean. */
function searched() {
  const phrases = some(1 + below(2), () => {
    const phrase = some(oneOf([1, 1, 1, 2]), word).join(" ");
    const asked = oneOf([phrase.toUpperCase(), phrase.toLowerCase()]);
    if (phrase.includes(" ") || random() < 0.3)
      return { asked: `"${asked}"`, phrase: wordsOf(phrase), goesOn: false };
    const begun = random() < 0.3;
    return {
      asked: begun ? `${asked.slice(0, 2)}*` : asked,
      phrase: wordsOf(begun ? phrase.slice(0, 2) : phrase),
      goesOn: begun,
    };
  });
  const fits = ({ id }: Row) =>
    phrases.every(({ phrase, goesOn }) =>
      bodies
        .get(id)!
        .some((_, at, body) =>
          phrase.every((part, n) => (goesOn ? body[at + n]?.startsWith(part) : body[at + n] === part)),
        ),
    );
  return [{ text: phrases.map(({ asked }) => asked).join(" ") }, fits] as const;
}

type Condition = readonly [object, (row: Row) => boolean];
/** One value, a list of it, or a list of some, which may be empty or name a value twice. */
const equal = (name: string, column: keyof Row, among: string[]) => (): Condition => {
  const values = some(oneOf([1, 1, 1, 1, 0, 2, 3]), () => oneOf(among));
  const given = values.length === 1 && random() < 0.7 ? values[0] : values;
  return [{ [name]: given }, (row) => (values as unknown[]).includes(row[column])];
};
const equalStatus = (): Condition => {
  const [named, fits] = equal("status", "status", ["ok", "error"])();
  return [JSON.parse(JSON.stringify(named).replace(/"(ok|error)"/g, (word) => word.toUpperCase())), fits];
};
const limit = (name: string, fits: (row: Row, value: number) => boolean, unit: number) => (): Condition => {
  const value = below(300) * unit;
  return [{ [name]: value }, (row) => fits(row, value)];
};
const member = (): Condition => {
  const [key, value] = [oneOf(keys), oneOf(values)];
  const has = ({ metadata }: Row) => Object.hasOwn(metadata ?? {}, key) && metadata![key] === value;
  return [{ metadata: [{ key, value }] }, has];
};
const since = (): Condition => {
  const from = oneOf(rows).startTime;
  return [{ from }, ({ startTime }) => startTime >= from];
};
/** Conditions within conditions; what a log has not is neither above nor below a limit. */
const nested = (depth: number): Condition => {
  const [shape, count] = [oneOf(["and", "or", "not"]), below(4)];
  const make = (): Condition => {
    const parts = some(1 + below(2), () => (depth < 3 && random() < 0.3 ? nested(depth + 1) : oneOf(flat)()));
    const all = Object.assign({}, ...parts.map(([part]) => part));
    // Of two parts about one field the second one replaces the first.
    const last = new Map(
      parts.flatMap(([part, fits]) => Object.keys(part).map((name) => [name, fits] as const)),
    );
    return [all, (row) => [...last.values()].every((fits) => fits(row))];
  };
  const [condition, holds] = make();
  if (shape === "not") return [{ not: condition }, (row) => !holds(row)];
  const list = some(count, make);
  const conditions = list.map(([one]) => one);
  return shape === "and"
    ? [{ and: conditions }, (row) => list.every(([, fits]) => fits(row))]
    : [{ or: conditions }, (row) => list.some(([, fits]) => fits(row))];
};
const until = (): Condition => {
  const to = oneOf(rows).startTime;
  return [{ to }, ({ startTime }) => startTime < to];
};
const conditions: [number, () => Condition][] = [
  [0.2, equal("slug", "promptSlug", [...slugs, "x"])],
  [0.15, equal("version", "version", versions)],
  [0.1, equal("tag", "tag", ["latest"])],
  [0.2, equal("userId", "userId", ids)],
  [0.2, equal("organizationId", "organizationId", ids)],
  [0.1, equal("model", "model", ["gpt-4o", "o3", "x"])],
  [0.1, equalStatus],
  [0.15, limit("minCost", ({ cost }, value) => cost !== null && cost >= value, 0.0002)],
  [0.15, limit("maxCost", ({ cost }, value) => cost !== null && cost <= value, 0.0002)],
  [0.15, limit("minLatencyMs", ({ latencyMs }, value) => latencyMs !== null && latencyMs >= value, 0.5)],
  [0.15, limit("maxLatencyMs", ({ latencyMs }, value) => latencyMs !== null && latencyMs <= value, 1)],
  [0.2, member],
  [0.2, since],
  [0.4, searched],
  [0.25, () => nested(0)],
];
/** Those that may stand within another condition. */
const flat = [...conditions.slice(0, 11).map(([, make]) => make), since, until];

const LOGS =
  "query($f: LogFilter, $n: Int, $a: String) { found: logs(filter: $f, first: $n, after: $a) { nodes { id } } }";
const TRACES =
  "query($f: LogFilter, $n: Int, $a: String) { found: traces(filter: $f, first: $n, after: $a) { nodes { id } } }";

test("whatever filters meet, each page has the logs that looking at every one of them finds", {
  tags: "slow",
  timeout: 120_000,
}, async () => {
  for (let run = 0; run < 75; run++) {
    const chosen = conditions.flatMap(([share, make]) => (random() < share ? [make()] : []));
    const to = maybe(0.2, () => new Date(oneOf(rows).startTime.getTime() + below(2)));
    const filter = Object.assign({}, ...chosen.map(([part]) => part), to && { to });
    if (filter.from > filter.to) delete filter.from;
    const fitting = chosen.filter(([part]) => !("from" in part) || "from" in filter);
    const fits = (row: Row) =>
      fitting.every(([, holds]) => holds(row)) && (to === null || row.startTime < to);
    const [list, key] = oneOf([
      [LOGS, "id"],
      [TRACES, "trace"],
    ] as const);
    let begin = oneOf([0, 0, below(newestFirst.length)]);
    for (let page = 0; page < 3; page++) {
      const first = 1 + below(100);
      const before = newestFirst[begin - 1];
      const after = before && toCursor(`${before.startTime.getTime()} ${before.id}`);
      const expected = newestFirst.slice(begin).filter(fits).slice(0, first);
      const found = await server.run(list, { f: filter, n: first, a: after });
      const asked = { filter, first, after };
      expect({ ...asked, found }).toEqual({ ...asked, found: expected.map((row) => ({ id: row[key] })) });
      if (expected.length < first) break;
      begin = newestFirst.indexOf(expected.at(-1)!) + 1;
    }
  }
});
