import { execute, type GraphQLEnumType, parse } from "graphql";
import { createYoga } from "graphql-yoga";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createDocumentCache, EXECUTION_OPTIONS, useDocuments } from "../../src/graphql/documents.ts";
import { chooseEncoding } from "../../src/http/compression.ts";
import { MAX_ANSWER_BYTES } from "../../src/limits/answerBudget.ts";
import { matchesEtag } from "../../src/rest/etag.ts";
import { schema } from "../../src/schema.ts";
import { parseTimestamp } from "../../src/validation/dateTime.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { bearerToken } from "../../src/workspaces/authentication.resolvers.ts";
import { addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

/** What takes quadratic time takes minutes for these; what is linear takes a few milliseconds. */
const LONG = 1_000_000;
const SOON = { timeout: 10_000 };

test("a token is found in a header of any length in linear time", SOON, () => {
  expect(bearerToken(`Bearer ${"x ".repeat(LONG)}`)).toBe("x ".repeat(LONG).trim());
  expect(bearerToken(`Bearer${" ".repeat(LONG)}`)).toBeUndefined();
  const apart = `a${" ".repeat(LONG)}b`;
  expect(bearerToken(`Bearer ${apart}`)).toBe(apart);
});

test("a path of any length that no route takes is refused in linear time", SOON, async () => {
  for (let n = 0; n < 200; n++) expect((await server.get(`/${"a/".repeat(LONG / 2)}`)).status).toBe(404);
});

test("of a query the first hundred parameters are read", async () => {
  const ask = (others: number) =>
    server.get(`/prompts?${"a=&".repeat(others)}featureSlug=one&featureSlug=two`);
  expect((await ask(98)).body).toMatchObject({ code: "BAD_INPUT" });
  expect((await ask(100)).body).toEqual({ prompts: [] });
});

test("an escape of a query that is not UTF-8 is read as it is written", async () => {
  await using own = await startServer();
  await addPrompt(own, { slug: "escaped", versions: [{ version: "1" }] });
  const { status, body } = await own.get("/prompts/escaped/describe?tag=a+%62%ff&%ff=%");
  expect(status).toBe(200);
  expect(body.warning).toContain('"a %62%ff"');
});

test("an encoding is chosen in linear time", SOON, () => {
  expect(chooseEncoding(`${" ".repeat(LONG)}x,${" ;".repeat(LONG)}q, gzip ; q=0.5`, ["gzip"])).toBe("gzip");
  expect(chooseEncoding("br;q=0, gzip; q=0", ["br", "gzip"])).toBeNull();
});

test("of a header that is a list the first 20 entries are read", async () => {
  const behind = (others: number, entry: string) => `${"x,".repeat(others)} ${entry}`;
  expect(chooseEncoding(behind(19, "GZIP"), ["gzip"])).toBe("gzip");
  expect(chooseEncoding(behind(20, "gzip"), ["gzip"])).toBeNull();
  const json = "application/graphql-response+json";
  const typeOf = async (others: number, query: string) => {
    const headers = { accept: behind(others, json) };
    return (await server.graphql(query, undefined, { headers })).headers["content-type"];
  };
  for (const query of ["{ __typename }", "{ prompts { nodes { slug } } }"]) {
    expect(await typeOf(19, query)).toContain(json);
    expect(await typeOf(20, query)).toMatch(/^application\/json/);
  }
});

test("a tag of an answer is found in a list of any length", SOON, () => {
  const tags = 'W/"x", '.repeat(LONG);
  expect(matchesEtag('W/"a"', `${tags}"a"`)).toBe(true);
  expect(matchesEtag('"a"', `${tags}W/"a" `)).toBe(true);
  expect(matchesEtag('"a"', `${tags}"ab", "`)).toBe(false);
  expect([matchesEtag('"a"', " * "), matchesEtag('"a"', undefined)]).toEqual([true, false]);
});

test("a text is found to be no timestamp in linear time", SOON, () => {
  expect(parseTimestamp("T".repeat(LONG))).toBeUndefined();
  expect(parseTimestamp(`2026-01-31T${"+00".repeat(LONG)}`)).toBeUndefined();
});

test.each([
  ["2026-01-31 09:30:00+0130", "2026-01-31T08:00:00.000Z"],
  ["2026-01-31t09:30:00-05", "2026-01-31T14:30:00.000Z"],
  ["2026-01-31T09:30", "2026-01-31T09:30:00.000Z"],
  ["2026-01-31 09:30:00 +02:00", undefined],
  ["2026-01-31  09:30:00", undefined],
])("the timestamp %s is read as %s", (text, read) => {
  expect(parseTimestamp(text)?.toISOString()).toBe(read);
});

test("the error for a wrong argument repeats little of it, in linear time", SOON, async () => {
  const value = "cannot represent ".repeat(40_000);
  const query = "query($n: Int) { prompts(first: $n) { nodes { slug } } }";
  const byVariable = await server.graphql(query, { n: value });
  const byLiteral = await server.graphql(`{ prompts(first: "${value}") { nodes { slug } } }`);
  const inSyntaxError = await server.graphql(`{ "${value}" }`);
  for (const { body } of [byVariable, byLiteral, inSyntaxError])
    expect(JSON.stringify(body).length).toBeLessThan(500);
});

test("nothing is suggested in place of a value in a long document", async () => {
  const messageOf = async (query: string) => (await server.graphql(query)).body.errors[0].message;
  const typo = "{ logs(filter: { type: generatoin }) { nodes { id } } }";
  expect(await messageOf(typo)).toContain("Did you mean");
  expect(await messageOf(`${typo} #${"x".repeat(100_000)}`)).not.toContain("Did you mean");
});

test("nothing is suggested in place of a variable, which may be long", async () => {
  const document = parse("query($type: LogType) { logs(filter: { type: $type }) { nodes { id } } }");
  const variableValues = { type: "generatoin" };
  const { errors } = await execute({ ...EXECUTION_OPTIONS, schema, document, variableValues });
  expect(errors![0]!.message).toContain("generatoin");
  expect(errors![0]!.message).not.toContain("Did you mean");
});

test("an enum suggests nothing, also in errors that are dropped", () => {
  const type = schema.getType("LogType") as GraphQLEnumType;
  expect(() => type.coerceInputValue("generatoin")).toThrow(/^(?!.*Did you mean).*generatoin/);
});

test("an answer has five errors of a document at most, each with 200 characters of it", async () => {
  const unknown = Array.from({ length: 100 }, (_, n) => `unknown${n}`).join(" ");
  expect((await server.graphql(`{ ${unknown} }`)).body.errors).toHaveLength(5);
  const long = await server.graphql(`{ __typename @${"x".repeat(10_000)} }`);
  expect(long.body.errors[0].message.length).toBeLessThanOrEqual(201);
  const broken = await server.graphql(`{ "${"x".repeat(10_000)}" }`);
  expect(broken.body.errors[0].message.length).toBeLessThanOrEqual(201);
});

test.each([
  ["more than 100 fragments", "101 fragments", `{ ...F0 } ${fragments(101)}`],
  ["a name of more than 128 characters", "129 characters", `{ ${"a".repeat(129)}: __typename }`],
  ["the same field so often that comparing takes long", "too often", `{ ${"__typename ".repeat(400)} }`],
])("a document with %s is refused before it is validated", async (_, reason, query) => {
  const { body } = await server.graphql(query);
  expect(body.errors).toEqual([expect.objectContaining({ message: expect.stringContaining(reason) })]);
  expect(body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test.each([
  ["250,000 characters", "250001 characters", " ".repeat(250_000 - "{ __typename }".length)],
  ["2,000 lines", "more than 2000 lines", "\n".repeat(1_999)],
  ["2,000 lines that end as on Windows", "more than 2000 lines", "\r\n".repeat(1_999)],
])("a document has %s at most, as each error looks through it", async (_, reason, before) => {
  const within = await server.graphql(`${before}{ __typename }`);
  expect(within.body).toEqual({ data: { __typename: "Query" } });
  const beyond = await server.graphql(`${before}${before[0]}{ __typename }`);
  expect(beyond.body.errors[0].message).toContain(reason);
  expect(beyond.body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

function fragments(count: number): string {
  return Array.from({ length: count }, (_, n) => `fragment F${n} on Query { __typename }`).join(" ");
}

describe("the cache of documents", () => {
  const cache = createDocumentCache();
  const yoga = createYoga({ schema, plugins: [useDocuments(cache)], parserAndValidationCache: false });
  const validate = (text: string) => {
    const { schema, parse, validate } = yoga.getEnveloped();
    return validate(schema, parse(text));
  };
  beforeEach(() => cache.clear());

  test("holds no document that is not valid, whose errors would fill the memory", () => {
    for (let n = 0; n < 50; n += 1) expect(validate(`{ ${"unknown ".repeat(10)} a${n} }`)).not.toEqual([]);
    expect(cache.size).toBe(0);
    expect(validate("{ __typename }")).toEqual([]);
    expect(cache.size).toBe(1);
  });

  test("is bounded by the memory of the trees, not by the length of the texts", () => {
    for (let n = 0; n < 400; n += 1)
      expect(validate(`{ a${n}: __typename ${"... { __typename } ".repeat(50)} }`)).toEqual([]);
    expect(cache.size).toBeGreaterThan(100);
    expect(cache.size).toBeLessThan(400);
  });

  test("is bounded by the memory of comments, which are tokens that are not counted", () => {
    for (let n = 0; n < 60; n += 1)
      expect(validate(`{ a${n}: __typename }${"#\n".repeat(1_900)}`)).toEqual([]);
    expect(cache.size).toBeGreaterThan(20);
    expect(cache.size).toBeLessThan(60);
  });
});

test.each([
  ["query($long: ID!) { node(id: $long) { id } }", "id", 46],
  ["query($long: String) { prompts(after: $long) { __typename } }", "after", 65_536],
  ["query($long: String) { prompts(search: $long) { __typename } }", "search", 200],
  ["query($long: String) { accessTokens(after: $long) { __typename } }", "after", 64],
])("of a text that is too long nothing but its length is looked at: %s", async (query, path, most) => {
  const { body } = await server.graphql(query, { long: "\0".repeat(most + 1) });
  const message = `must have at most ${most} characters`;
  expect(body.errors[0].extensions.details).toEqual([{ path, message }]);
});

describe("a body of JSON", () => {
  const post = (body: string) => server.post("/monitor/log", body);
  const refused = (message: string) => ({ status: 400, body: { code: "BAD_INPUT", error: message } });

  test("may have 500,000 values and 100,000 members of objects", async () => {
    const within = await post(`{"slug":"x","output":[${"0,".repeat(490_000)}0]}`);
    expect(within.status).toBe(200);
    const beyond = await post(`{"slug":"x","output":[${"0,".repeat(500_000)}0]}`);
    expect(beyond).toMatchObject(
      refused(
        "Invalid input: the input has more than 500000 values, where each number with a fraction counts as several; send less at once.",
      ),
    );
    const members = Array.from({ length: 100_001 }, (_, n) => `"k${n}":0`).join();
    const object = await post(`{"slug":"x","output":{${members}}}`);
    expect(object).toMatchObject(
      refused("Invalid input: the input has more than 100000 members of objects; send less at once."),
    );
  });

  test("is looked through no further than the first bound that it exceeds", async () => {
    const members = Array.from({ length: 100_001 }, (_, n) => `"k${n}":0`).join();
    const both = await post(`{"slug":"x","output":{${members}},"input":[${"0,".repeat(500_000)}0]}`);
    expect(both).toMatchObject(
      refused("Invalid input: the input has more than 100000 members of objects; send less at once."),
    );
  });

  test("may have 50,000 whole numbers beyond the safe ones, which take longer to compare", async () => {
    const numbers = (count: number) => post(`{"slug":"x","output":[${`${2n ** 60n},`.repeat(count)}0]}`);
    expect((await numbers(49_000)).status).toBe(200);
    expect(await numbers(51_000)).toMatchObject(
      refused(
        "Invalid input: the input has more than 500000 values, where each number with a fraction counts as several; send less at once.",
      ),
    );
  });

  test("counts members whose names are numbers of five digits or more three times", async () => {
    const withNames = (count: number) =>
      post(`{"slug":"x","output":{${Array.from({ length: count }, (_, n) => `"${10_000 + n}":0`).join()}}}`);
    expect((await withNames(33_000)).status).toBe(200);
    expect((await withNames(33_400)).status).toBe(400);
  });

  test("counts the values of all objects in it that are written as text, too", async () => {
    const metadata = (values: number) => `{"a":[${"0,".repeat(values)}0]}`;
    const within = await post(JSON.stringify({ slug: "x", output: "x", metadata: metadata(490_000) }));
    expect(within.status).toBe(200);
    const logs = [300_000, 300_000].map((values, n) => ({
      ...{ id: `${n}`, type: "span", metadata: metadata(values) },
    }));
    const beyond = await server.post("/monitor/trace", JSON.stringify({ logs }));
    const what =
      "logs.1.metadata has more than 500000 values, where each number with a fraction counts as several; send less at once.";
    expect(beyond).toMatchObject(refused(`Invalid input: ${what}`));
    const inexact = await post(
      JSON.stringify({ slug: "x", output: "x", metadata: '{"id":12345678901234567}' }),
    );
    expect(inexact.body.details).toMatchObject([{ path: "metadata" }]);
  });

  test("names the member whose number is too long, whatever else it holds", SOON, async () => {
    const { body } = await post(
      `{"slug":"x","output":[${"0,".repeat(400_000)}0],"metadata":{"id":12345678901234567}}`,
    );
    expect(body.details).toEqual([
      { path: "metadata.id", message: expect.stringContaining("too large to be kept exactly") },
    ]);
  });

  // V8 may take 2 microseconds to write a fraction, and 6 with an exponent.
  test.each([
    ["0.1409862966177131", 49_000, 51_000],
    ["9.849538097843731e-301", 21_000, 22_000],
    ["0.5", 240_000, 260_000],
    ["12", 490_000, 510_000],
  ])("has at most 500,000 values, where %s counts for its characters", SOON, async (number, some, more) => {
    const send = (count: number) => post(`{"slug":"x","output":[${Array(count).fill(number).join()}]}`);
    const tooMany = expect.stringContaining("more than 500000 values");
    expect((await send(more)).body).toMatchObject({ code: "BAD_INPUT", error: tooMany });
    expect((await send(some)).status).toBe(200);
  });

  test.each(["12345678901234567.0", "-12345678901234567.000", "9".repeat(400)])(
    "is refused for the whole number %s, which JavaScript would change, at both APIs",
    async (number) => {
      const error = expect.stringContaining("too large to be kept exactly");
      expect((await post(`{"slug":"x","output":${number}}`)).body.error).toEqual(error);
      const query = `mutation { logPrompt(input: {slug: "x", output: ${number}}) { warning } }`;
      expect((await server.graphql(query)).body.errors[0].message).toEqual(error);
    },
  );

  test.each(["9007199254740991.0", "1e300", "0.1234567890123456789", "1.5e-300"])(
    "is taken with the number %s",
    async (number) => {
      expect((await post(`{"slug":"x","output":${number}}`)).status).toBe(200);
    },
  );
});

test("a large object of a variable with wrong members is refused by the name of one, without its content", async () => {
  const wrong = async (type: string, call: string, input: object) =>
    (
      await server.graphql(`${call.startsWith("add") ? "mutation" : "query"}($input: ${type}) { ${call} }`, {
        input,
      })
    ).body.errors[0].message;
  const add = (input: object) =>
    wrong("DatasetItemInput!", 'addDatasetItem(slug: "x", input: $input) { warnings { path } }', input);
  const long = "x".repeat(100_000);
  expect(await add({ values: { a: 1 }, b: 1 })).toContain("not to include unknown field");
  expect(await add({ values: { a: long }, b: 1 })).toBe(
    'Invalid input: input has a DatasetItemInput with the unknown field "b".',
  );
  expect(await add({ name: long })).toBe(
    "Invalid input: input has a DatasetItemInput without the field values.",
  );
  const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, 1]));
  expect(await wrong("LogFilter", "logs(filter: $input) { nodes { id } }", { not: members })).toBe(
    'Invalid input: input has a LogCondition with the unknown field "k0".',
  );
});

test.each([
  ["escapes", "\u0001"],
  ["UTF-8", "漢"],
])("an answer that %s make larger than 32 MB is refused", async (_, character) => {
  const output = character.repeat(1_200_000);
  const ask = (times: number) => {
    const fields = Array.from({ length: times }, (_, n) => `a${n}: output`).join(" ");
    const query = `mutation($output: JSON!) { logPrompt(input: {slug: "x", output: $output}) { log { ${fields} } } }`;
    return server.graphql(query, { output });
  };
  expect((await ask(3)).body.data.logPrompt.log.a2).toBe(output);
  expect((await ask(12)).body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test("with a character beyond Latin-1, which doubles it in memory, an answer has half as many characters", async () => {
  const ask = (last: string) => {
    const fields = Array.from({ length: 10 }, (_, n) => `a${n}: output`).join(" ");
    const query = `mutation($output: JSON!) { logPrompt(input: {slug: "${last}", output: $output}) { log { prompt { slug } promptSlug: name ${fields} } } }`;
    return server.graphql(query, { output: "x".repeat(2_000_000) });
  };
  for (const latin of ["x", "\u00ff"]) expect((await ask(latin)).body.errors).toBeUndefined();
  expect((await ask("\u0100")).body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test("an answer that aliases make larger than 32 MB is refused", async () => {
  const output = "x".repeat(MAX_ANSWER_BYTES / 8);
  const aliases = Array.from({ length: 10 }, (_, n) => `a${n}: output`).join(" ");
  const log = (fields: string, headers = {}) => {
    const query = `mutation($output: JSON!) { logPrompt(input: {slug: "x", output: $output}) { log { ${fields} } } }`;
    return server.graphql(query, { output }, { headers });
  };
  expect((await log("output")).body.data.logPrompt.log.output).toBe(output);
  for (const accept of ["application/json", "application/json, text/event-stream"])
    expect((await log(aliases, { accept })).body).toEqual({
      errors: [
        {
          message: expect.stringMatching(/larger than 32 MB.*The mutation was carried out\.$/),
          extensions: { code: "QUERY_TOO_COMPLEX" },
        },
      ],
    });
});

test(
  "a text by which something is looked up has at most 16,000 characters, a cursor 65,536",
  SOON,
  async () => {
    const look = (slug: string) =>
      server.graphql("query($s: String!) { prompt(slug: $s) { slug } }", { s: slug });
    const [taken, refused] = [await look("a".repeat(16_000)), await look("a".repeat(5_000_000))];
    expect(taken.body.errors[0].extensions.code).toBe("PROMPT_NOT_FOUND");
    expect(refused.body.errors[0].message).toContain("slug must have at most 16000 characters");
    const page = (after: string) =>
      server.graphql("query($a: String!) { prompts(after: $a) { nodes { slug } } }", { a: after });
    expect((await page(toCursor("a".repeat(400)))).body.data.prompts.nodes).toBeInstanceOf(Array);
    expect((await page(toCursor("a".repeat(49_153)))).body.errors[0].message).toContain(
      "after must have at most 65536 characters",
    );
  },
);

test.each([
  ["a feature", "query($v: String!) { prompts(featureSlug: $v) { nodes { slug } } }", "featureSlug", 16_000],
  ["a model", "query($v: String!) { modelPrices(model: $v) { nodes { id } } }", "model", 256],
  [
    "a time zone",
    'query($v: String!) { usage(from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z", timeZone: $v) { nodes { logs } } }',
    "timeZone",
    64,
  ],
])(
  "nothing looks at the text by which %s is looked up before its length is known",
  async (_, query, path, max) => {
    const lowerCase = vi.spyOn(String.prototype, "toLowerCase");
    const value = "\u0130".repeat(1_000_000);
    const { body } = await server.graphql(query, { v: value });
    const texts = lowerCase.mock.contexts;
    lowerCase.mockRestore();
    expect(body.errors[0].extensions.details).toEqual([
      { path, message: `must have at most ${max} characters` },
    ]);
    expect(texts.filter((text) => String(text).length > 100_000)).toEqual([]);
  },
);

test(
  "the error for very many unknown members of an input is short, and made in linear time",
  SOON,
  async () => {
    const input = Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`k${n}`, n]));
    const query = "mutation($i: LogPromptInput!) { logPrompt(input: $i) { warning } }";
    const { status, body } = await server.graphql(query, { i: input });
    expect([status, JSON.stringify(body).length < 1_000]).toEqual([200, true]);
    expect(body.errors[0].extensions.code).toBe("BAD_INPUT");
  },
);

test.each([
  ["a list", { items: Array(10_001).fill({ values: {} }) }],
  ["an object in place of a list", { items: { values: {} } }],
])("input objects are counted before they are converted: %s", SOON, async (kind, input) => {
  const query =
    'mutation($i: AddDatasetItemsInput!) { addDatasetItems(slug: "no", input: $i) { errors { code } } }';
  const { body } = await server.graphql(query, { i: input });
  expect(body.errors[0]).toMatchObject(
    kind === "a list"
      ? {
          message: "Invalid input: the input has more than 10,000 objects in its lists; send less at once.",
          extensions: { code: "BAD_INPUT" },
        }
      : { extensions: { code: "DATASET_NOT_FOUND" } },
  );
  const rows = { values: { many: Array(20_000).fill({ any: {} }) } }; // JSON is no input object
  const added = await server.graphql(query, { i: { items: [rows] } });
  expect(added.body.errors[0].extensions.code).toBe("DATASET_NOT_FOUND");
});

test("they are counted by Yoga's own transport as well", async () => {
  const filter = { or: Array(10_001).fill({}) };
  const query = "query($f: LogFilter) { logs(filter: $f) { nodes { id } } }";
  for (const accept of ["application/json", "application/json, text/event-stream"]) {
    const { body } = await server.graphql(query, { f: filter }, { headers: { accept } });
    expect(body.errors[0].message).toContain("more than 10,000 objects");
  }
});

test("parameters of a URL that GraphQL does not know cost next to nothing", async () => {
  const unknown = Array.from({ length: 3_000 }, (_, n) => `&p${n}`).join("");
  const { body } = await server.get(`/graphql?query={__typename}${unknown}`);
  expect(body).toEqual({ data: { __typename: "Query" } });
});
