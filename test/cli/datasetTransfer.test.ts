import { existsSync } from "node:fs";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDataset } from "../../src/datasets/authoring.resolvers.ts";
import { addDatasetItems } from "../../src/datasets/items.resolvers.ts";
import { allDatasetRows } from "../../src/datasets/reading.resolvers.ts";
import { tagDatasetVersion } from "../../src/datasets/tags.resolvers.ts";
import { dataset } from "../../src/datasets/versions.resolvers.ts";
import { logPromptRecord } from "../../src/logs/inputs.ts";
import { logPrompt } from "../../src/logs/resolvers.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { openFolder } from "../support/commandLine.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
});
afterAll(() => at.close());

const give = (name: string, text: string | Buffer) => writeFile(at.path(name), text);
const taken = (name: string) => readFile(at.path(name), "utf8");
const importing = (file: string, slug: string, ...more: string[]) =>
  at.gabbro("import", "dataset", file, "--slug", slug, ...more);

/** A dataset as the service has it, without what is made anew: ids and times. */
async function stored(slug: string, workspace?: string) {
  const context = await at.contextOf(workspace);
  const head = await dataset(context, { slug });
  const rows = [];
  for await (const piece of allDatasetRows(context, head)) rows.push(...piece.rows);
  return {
    name: head.name,
    columns: head.columns.map(({ name, type }) => `${name}:${type}`),
    rows: rows.map(({ name, key, values, idealOutput, metadata }) => ({
      name,
      key,
      values,
      idealOutput,
      metadata,
    })),
  };
}
const valuesOf = async (slug: string) => (await stored(slug)).rows.map(({ values }) => values);

const nastyTexts = [
  "",
  " ",
  ' "quoted", with, commas; and\ttabs ',
  "line\nbreaks\r\nof\rall kinds\n",
  "😀 👩‍👩‍👧 עברית العربية \u2028 \u2029 \u0085 \uFEFF",
  "007",
  "json:",
  'json:"text"',
  "json:null",
  "=1+1",
  "'",
  "null",
  "\\N",
  "#no comment",
  "\uFEFFbegins with a mark",
  "\u0001\u001f",
];
const nastyValues: unknown[] = [
  null,
  0,
  "0",
  -0.5,
  1e21,
  true,
  "true",
  [],
  {},
  [null, ["a"]],
  { "a.b": { "": '"\n' } },
];
const names = [
  "a",
  "name",
  "key",
  "values",
  "metadata",
  "idealOutput",
  "values.name",
  "a b",
  "a.b",
  "x:json",
  ":",
  "values.",
  "é;\t",
  'q"',
  "l\nb",
  "\uFEFFm",
  // More of them than the header has commas.
  "a;".repeat(64),
  "a\t".repeat(64),
];

async function makeNasty(slug: string) {
  const context = await at.contextOf();
  const columns = names.flatMap((name) => [
    { name, type: "text" as const },
    { name: `${name}:json`, type: "json" as const },
    { name: `${name}:text`, type: "image" as const },
  ]);
  await createDataset(context, {
    slug,
    name: "Nasty, isn't it?",
    columns: columns.filter(({ name }, n) => columns.findIndex((other) => other.name === name) === n),
  });
  const everywhere = [...nastyTexts, ...nastyValues].map((value, n) => {
    const entries = names
      .flatMap((name) => [name, `${name}:json`, `${name}:text`])
      .map((name) => [name, value]);
    return { name: `row ${n}`, key: n % 2 ? `k"${n}\n` : null, values: Object.fromEntries(entries) };
  });
  const fields = nastyTexts.map((text) => ({
    name: text,
    key: text === "" ? null : `key ${text}`,
    values: {},
    idealOutput: text,
    metadata: { text, deep: [{ [text]: null }] },
  }));
  const { errors } = await addDatasetItems(context, {
    slug,
    input: { items: [...everywhere, ...fields, { values: {} }, { values: { a: null } }] },
  });
  expect(errors).toEqual([]);
}

test.each(["csv", "jsonl", "json"])(
  "what is exported as %s imports to the same dataset, and exports the same again",
  async (format) => {
    await makeNasty(`nasty-${format}`);
    expect(
      await at.gabbro("export", "dataset", `nasty-${format}`, "--output", `one.${format}`),
    ).toMatchObject({ code: 0, stdout: "" });
    const again = await importing(`one.${format}`, `again-${format}`, "--name", "Nasty, isn't it?");
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(await stored(`again-${format}`)).toEqual(await stored(`nasty-${format}`));
    const { stdout } = await at.gabbro("export", "dataset", `again-${format}`, "--format", format);
    expect(stdout.replace(`again-${format}`, `nasty-${format}`)).toBe(await taken(`one.${format}`));
  },
);

test("a first column whose name begins with a byte order mark keeps it on the way through CSV", async () => {
  const columns = [{ name: "\uFEFFfirst", type: "text" as const }];
  await createDataset(await at.contextOf(), { slug: "marked", columns });
  await at.gabbro("export", "dataset", "marked", "--output", "marked.csv");
  expect(await importing("marked.csv", "marked-again")).toMatchObject({ code: 0 });
  expect((await stored("marked-again")).columns).toEqual(["\uFEFFfirst:text"]);
});

test("an older version of a dataset is exported as it was, by its number or by a tag", async () => {
  const exported = async (...more: string[]) =>
    (await at.gabbro("export", "dataset", "dated", "--format", "csv", ...more)).stdout;
  await give("dated.csv", "key,values.a\n1,old\n");
  await importing("dated.csv", "dated");
  const old = await exported();
  await give("dated.csv", "key,values.a\n1,new\n2,more\n");
  await importing("dated.csv", "dated");
  await tagDatasetVersion(await at.contextOf(), {
    ...{ slug: "dated", input: { tag: "gate", to: { version: 2, tag: null } } },
  });
  expect(old).toContain("old");
  expect([await exported("--at", "2"), await exported("--tag", "gate")]).toEqual([old, old]);
  expect(await exported("--at", "3")).toBe(await exported());
  expect(await exported()).toContain("new");
  const { code, stderr } = await at.gabbro("export", "dataset", "dated", "--at", "99");
  expect([code, stderr]).toEqual([1, 'gabbro: Dataset "dated" has no version 99; its newest is 3.\n']);
});

test("an export has every row of a dataset, in all formats, also of one that is read in several pieces", async () => {
  const context = await at.contextOf();
  await createDataset(context, { slug: "long", columns: [{ name: "a", type: "text" }] });
  const texts = Array.from({ length: 1_200 }, (_, n) => `row ${n}.`);
  await addDatasetItems(context, { slug: "long", input: { items: texts.map((a) => ({ values: { a } })) } });
  for (const format of ["csv", "jsonl", "json"]) {
    const { code, stdout } = await at.gabbro("export", "dataset", "long", "--format", format);
    expect([format, code, stdout.match(/row \d+\./g)]).toEqual([format, 0, texts]);
  }
});

test("an empty dataset keeps its name and columns on the way through a file", async () => {
  await createDataset(await at.contextOf(), {
    slug: "empty",
    name: "Nothing yet",
    columns: [{ name: "a", type: "json" }],
  });
  for (const format of ["csv", "jsonl", "json"]) {
    await at.gabbro("export", "dataset", "empty", "--output", `empty.${format}`);
    expect(await importing(`empty.${format}`, `empty-${format}`, "--name", "Nothing yet")).toMatchObject({
      code: 0,
    });
    expect(await stored(`empty-${format}`)).toEqual(await stored("empty"));
  }
});

const foreign: [string, string, string | Buffer, unknown][] = [
  [
    "commas, quotes and CR LF",
    "f1.csv",
    'a,b\r\n"x, ""y""",2\r\n"two\r\nlines",\r\n',
    [{ a: 'x, "y"', b: "2" }, { a: "two\r\nlines" }],
  ],
  ["a byte order mark and semicolons", "f2.csv", "\uFEFFa;b\n1,5;2\n", [{ a: "1,5", b: "2" }]],
  ["tabs", "f3.tsv", "a\tb\n1\t2", [{ a: "1", b: "2" }]],
  [
    "the endings of lines of old",
    "f4.csv",
    "a,b\r1,2\r3,4\r",
    [
      { a: "1", b: "2" },
      { a: "3", b: "4" },
    ],
  ],
  [
    "blank lines and columns without a name at the end",
    "f5.csv",
    "\na,b,,\n\n1,2,,\n\n",
    [{ a: "1", b: "2" }],
  ],
  [
    "nothing, an empty text and null",
    "f6.csv",
    'a,b\n,""\njson:null,json:0\n',
    [{ b: "" }, { a: null, b: 0 }],
  ],
  ["values as JSON", "f7.csv", 'values,a\n"{""b"":[1]}",2\n', [{ b: [1], a: "2" }]],
  ["flat lines", "f8.jsonl", '{"a":"1"}\n\n{"b":{"c":2}}\r\n', [{ a: "1" }, { b: { c: 2 } }]],
  ["whole lines", "f9.ndjson", '{"values":{"a":"1"},"idealOutput":"x"}', [{ a: "1" }]],
  ["a list", "f10.json", '[{"a":"1"},\n{"a":1}]', [{ a: "1" }, { a: 1 }]],
  [
    "the answer of REST",
    "f11.json",
    '{"dataset":{"slug":"x","name":"X","columns":[{"name":"a","type":"json"}],"rows":[{"values":{"a":[]},"idealOutput":null,"metadata":null}]}}',
    [{ a: [] }],
  ],
];
test.each(foreign)("it reads files of others: %s", async (_, file, text, values) => {
  await give(file, text);
  const slug = file.replace(/\W/g, "-");
  expect(await importing(file, slug)).toMatchObject({ code: 0, stderr: "" });
  expect(await valuesOf(slug)).toEqual(values);
});

test("a new dataset takes columns that come up in any row, with JSON for what is no plain value", async () => {
  const lines = Array.from({ length: 1_500 }, (_, n) =>
    JSON.stringify(n < 1_400 ? { a: `${n}` } : { a: "x", late: { n } }),
  );
  await give("late.jsonl", lines.join("\n"));
  expect(await importing("late.jsonl", "late")).toMatchObject({ code: 0, stderr: "" });
  const { columns, rows } = await stored("late");
  expect(columns).toEqual(["a:text", "late:json"]);
  expect(rows).toHaveLength(1_500);
  expect(rows.map(({ values }) => values.a).slice(0, 1_400)).toEqual(
    lines.slice(0, 1_400).map((_, n) => `${n}`),
  );
  expect(rows.at(-1)?.values).toEqual({ a: "x", late: { n: 1_499 } });
});

test("an existing dataset keeps its columns and name, and what it has no column for is named", async () => {
  await give("base.csv", "a,b:json\n1,2\n");
  await importing("base.csv", "base", "--name", "Base");
  await give("more.csv", "b,a,c\n[3],2,9\n");
  const { code, stderr } = await importing("more.csv", "base", "--name", "Other");
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr:
      'Left out, because the dataset has no such columns: "c".\nThe dataset exists and keeps its name "Base".\n',
  });
  expect(await stored("base")).toMatchObject({
    name: "Base",
    columns: ["a:text", "b:json"],
    rows: [{ values: { a: "1", b: 2 } }, { values: { a: "2", b: [3] } }],
  });
});

test("repeating an import with --key adds nothing, and changes what changed", async () => {
  await give("keyed.csv", "id,a\n1,x\n2,y\n3,z\n");
  expect((await importing("keyed.csv", "keyed", "--key", "id")).stdout).toContain(
    "3 rows added, 0 changed, 0 unchanged",
  );
  expect((await importing("keyed.csv", "keyed", "--key", "id")).stdout).toContain(
    "0 rows added, 0 changed, 3 unchanged",
  );
  await give("keyed.csv", "id,a\n1,x\n2,new\n4,w\n");
  expect((await importing("keyed.csv", "keyed", "--key", "id")).stdout).toContain(
    "1 rows added, 1 changed, 1 unchanged",
  );
  expect((await stored("keyed")).rows.map(({ key, values }) => [key, values.a])).toEqual([
    ["1", "x"],
    ["2", "new"],
    ["3", "z"],
    ["4", "w"],
  ]);
  expect(await importing("keyed.csv", "keyed", "--key", "nope")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no column "nope" for --key; it has "id", "a"'),
  });
});

test("--dry-run stores nothing and says what would be done", async () => {
  await give("dry.csv", "id,a:json\n1,1\n2,{\n");
  const { code, stdout, stderr } = await importing("dry.csv", "dry", "--key", "id", "--dry-run");
  expect(code).toBe(1);
  expect(stdout).toContain(
    'Dry run, nothing was stored. Dataset "dry" (new): 1 rows would be added, 0 changed, 0 unchanged, 1 rejected',
  );
  expect(stderr).toContain('line 3, column "a": is not valid JSON');
  expect(existsSync(at.path("dry.csv.rejected"))).toBe(false);
  await expect(stored("dry")).rejects.toThrow("does not exist");
});

test.each([
  [
    "csv",
    'id,j:json,metadata\n1,1,\n\n2,{,\n"3",2,[]\n4,"\n7",\n,5,\n6\n7,12345678901234567890,\n"8\n",{,\n9,{,\n',
    [
      'line 4, column "j": is not valid JSON',
      'line 5, column "metadata": must be an object or null',
      'line 8, column "id": is empty, but --key needs it',
      "line 9: has 1 cells, but the header names 3",
      'line 10, column "j": is a whole number too large',
      'line 11, column "j": is not valid',
      'line 13, column "j"',
    ],
    ["1", "4"],
  ],
  [
    "jsonl",
    '{"id":1,"j":1}\n{"id":2,\n[]\n{"id":"3","j":12345678901234567890}\n{"id":4,"metadata":7}\n{"j":1}\n{"id":5,"t":"\\u0000"}\n{"id":6}',
    [
      "line 2: is not valid JSON",
      "line 3: must be an object",
      'line 4, column "j": is a whole number too large',
      'line 5, column "metadata": must be an object',
      'line 6, column "id": is empty',
      'line 7, column "t": must not contain the character NUL',
    ],
    ["1", "6"],
  ],
  [
    "json",
    '[{"id":1},\n[],\n{"id":2,"j":\n12345678901234567890},\n{"id":3,"idealOutput":4},{"id":{}},{"id":"4"}]',
    [
      "line 2: must be an object",
      'line 3, column "j": is a whole number too large',
      'line 5, column "idealOutput": must be a string',
      'line 5, column "id": must be a text or a number',
    ],
    ["1", "4"],
  ],
])(
  "bad rows are reported with line, column and reason and written to FILE.rejected: %s",
  async (format, text, reasons, keys) => {
    const file = `bad.${format}`;
    await give(file, text);
    const { code, stdout, stderr } = await importing(file, `bad-${format}`, "--key", "id");
    expect(code).toBe(1);
    expect(stdout).toContain(`${keys.length} rows added, 0 changed, 0 unchanged, ${reasons.length} rejected`);
    const lines = stderr.trim().split("\n");
    expect(lines).toHaveLength(reasons.length + 1);
    for (const [n, reason] of reasons.entries()) expect(lines[n]).toContain(reason);
    expect(lines.at(-1)).toContain(`${file}.rejected`);
    expect((await stored(`bad-${format}`)).rows.map(({ key }) => key)).toEqual(keys);
  },
);

test.each([
  ["csv", "id,j:json\n1,{\n2,2\n3,]\n", (text: string) => text.replace("{", "1").replace("]", "3")],
  [
    "jsonl",
    '{"dataset":{"columns":[{"name":"id","type":"text"},{"name":"j","type":"json"}]}}\n{"id":"1","j":1e999}\n{"id":"2","j":2}\n{"id":"3","j":}\n',
    (text: string) => text.replace("1e999", "1").replace("}\n{", "}\n{").replace('"j":}', '"j":3}'),
  ],
  [
    "json",
    '[{"id":"1","j":{"n":10000000000000000001}},{"id":"2","j":2},{"id":"3","idealOutput":[],"j":3}]',
    (text: string) => text.replace('{"n":10000000000000000001}', "1").replace("[],", "null,"),
  ],
])("the mended FILE.rejected imports: %s", async (format, text, mend) => {
  const file = `mend.${format}`;
  await give(file, text);
  expect((await importing(file, `mend-${format}`, "--key", "id")).code).toBe(1);
  await give(`${file}.rejected`, mend(await taken(`${file}.rejected`)));
  expect(await importing(`${file}.rejected`, `mend-${format}`, "--key", "id")).toMatchObject({
    code: 0,
    stderr: "",
  });
  const rows = (await stored(`mend-${format}`)).rows.map(({ key, values }) => [key, values.j]);
  expect(rows.toSorted()).toEqual([
    ["1", 1],
    ["2", 2],
    ["3", 3],
  ]);
});

test.each([
  ["semicolons", "csv", ";"],
  ["tabs", "tsv", "\t"],
])(
  "the FILE.rejected of a file with %s imports, also with commas in the names of columns",
  async (_, ending, sign) => {
    const file = `signs.${ending}`;
    await give(file, `${['"a,b,c"', "j:json"].join(sign)}\n${["x,y", "{"].join(sign)}\n`);
    expect((await importing(file, `signs-${ending}`)).code).toBe(1);
    await give(`${file}.rejected`, (await taken(`${file}.rejected`)).replace("{", "1"));
    const format = ["--format", "csv"];
    expect(await importing(`${file}.rejected`, `signs-${ending}`, ...format)).toMatchObject({ code: 0 });
    expect(await valuesOf(`signs-${ending}`)).toEqual([{ "a,b,c": "x,y", j: 1 }]);
  },
);

test("columns named like what every object has are empty where a row has no value", async () => {
  const text = "a,constructor,toString\n1,,\n2,x,y\n";
  await give("own.csv", text);
  expect((await importing("own.csv", "own")).code).toBe(0);
  expect((await at.gabbro("export", "dataset", "own", "--format", "csv")).stdout).toBe(
    "a,constructor,toString,idealOutput,metadata,name,key\n1,,,,,,\n2,x,y,,,,\n",
  );
  await give("own.constructor", text);
  expect((await importing("own.constructor", "own")).stderr).toContain("names no format");
});

test("of a file whose first line never ends no more is read than a row may have", async () => {
  await give("endless.csv", "");
  await truncate(at.path("endless.csv"), 1_000_000_000);
  const { code, stderr } = await importing("endless.csv", "endless");
  expect(code).toBe(1);
  expect(stderr).toContain("endless.csv, line 1: this row is over 16 MB");
});

const large = "€".repeat(3_400_000);

test.each([
  ["large.csv", ["q", "a", large, "b"]],
  ["large.json", ['[{"q":"a"}', `,{"q":"${large}"}`, ',{"q":"b"}', "]"]],
  ["large.jsonl", ['{"q":"a"}', `{"q":"${large}"}`, '{"q":"b"}']],
])(
  "a row of %s that is larger than any of the service is rejected with its line, and no other",
  async (file, lines) => {
    await give(file, lines.join("\n"));
    const slug = file.replace(".", "-");
    const { code, stderr } = await importing(file, slug);
    expect(code).toBe(1);
    const line = lines.findIndex((each) => each.includes("€")) + 1;
    expect(stderr).toContain(`line ${line}: The row would be larger than 10,000,000 bytes as JSON`);
    expect(await valuesOf(slug)).toEqual([{ q: "a" }, { q: "b" }]);
    expect(await taken(`${file}.rejected`)).toContain(large);
  },
);

const deep = (value: string) => `${"[".repeat(50_000)}${value}${"]".repeat(50_000)}`;

test.each([
  ["deep.json", `{"q":${deep('"x"')}}`],
  ["deep.jsonl", `{"q":${deep('"x"')}}`],
  ["long.json", `{"q":${deep("12345678901234567890")}}`],
  ["long.jsonl", `{"q":${deep("12345678901234567890")}}`],
])(
  "a row of %s that is nested too deeply is rejected whole with its line, and no other",
  async (file, row) => {
    const lines = ['{"q":"a"}', row, '{"q":"b"}'];
    await give(file, file.endsWith(".json") ? `[${lines.join(",\n")}]` : lines.join("\n"));
    const slug = file.replace(".", "-");
    const { code, stderr } = await importing(file, slug);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^line 2.*: must not be nested deeper than 1(?:00|28) levels$/m);
    expect(await valuesOf(slug)).toEqual([{ q: "a" }, { q: "b" }]);
    expect((await taken(`${file}.rejected`)).split("\n")).toContain(row);
  },
);

test("of very many bad rows the first are reported, then their number", async () => {
  await give("many.jsonl", "x\n".repeat(3_000));
  const { stderr } = await importing("many.jsonl", "many");
  expect(stderr.match(/^line /gm)).toHaveLength(20);
  expect(stderr).toContain("… and 2,980 more rows.");
  expect(await taken("many.jsonl.rejected")).toBe("x\n".repeat(3_000));
});

test.each<[string, string | Buffer | null, string, string[]]>([
  ["nope.csv", null, "There is no file nope.csv.", []],
  ["data", null, "data is not a file.", ["--format", "csv"]],
  ["b.csv", "", "b.csv, line 1: the file is empty", []],
  ["c.csv", "a,,b\n1,2,3\n", "c.csv, line 1: column 2 has no name", []],
  ["d.csv", "a,values.a\n1,2\n", 'd.csv, line 1: the column "a" stands there twice', []],
  [
    "e.csv",
    'a\n"1\r\n2"\n"x',
    "e.csv, line 4: a quotation mark opens in this row and is never closed. Nothing was stored.",
    [],
  ],
  ["f.csv", 'a\n1\n2"x"\n', "f.csv, line 3: a quotation mark stands within a cell", []],
  ["empty.csv", 'a\n\n\n1\n2"x"\n', "empty.csv, line 5: a quotation mark stands within a cell", []],
  ["g.csv", 'a\n"1"x\n', "g.csv, line 2: something stands behind the closing quotation mark", []],
  [
    "h.csv",
    Buffer.from("a\n1\nfa\xE7ade\n", "latin1"),
    "h.csv, line 1: this line, or one of the next hundreds, is not UTF-8",
    [],
  ],
  ["i.json", '[{"a":1},\n{"a":}]', "i.json, line 2: this is not valid JSON", []],
  ["j.json", '[{"a":1},\n', "j.json, line 2: the JSON ends too early", []],
  ["k.json", '{"columns":[]}', "k.json, line 1: there are no rows", []],
  ["l.json", "[]\n]", "l.json, line 2: this is not valid JSON", []],
  [
    "m.jsonl",
    '{"dataset":{"columns":[{"name":"a","type":"int"}]}}',
    "m.jsonl, line 1: dataset.columns.0.type must be one of",
    [],
  ],
])(
  "what cannot be read is reported with its line, and nothing is made: %s",
  async (file, text, message, more) => {
    if (text !== null) await give(file, text);
    const { code, stdout, stderr } = await importing(file, "broken", ...more);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("    at ");
    await expect(stored("broken")).rejects.toThrow("does not exist");
  },
);

test("a file that breaks off says how many rows before it are stored", async () => {
  await give("breaks.csv", `a\n${"x\n".repeat(40_000)}"x`);
  const { code, stderr } = await importing("breaks.csv", "breaks");
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /breaks\.csv, line 40002: .* ([\d,]+) rows before it are stored\. .* with --key COLUMN/,
  );
  const rowsBefore = Number(/([\d,]+) rows before/.exec(stderr)![1]!.replaceAll(",", ""));
  expect((await stored("breaks")).rows).toHaveLength(rowsBefore);
  expect(rowsBefore).toBeGreaterThan(30_000);
});

test("a dry run of a file that breaks off says that nothing is stored", async () => {
  await give("dry-breaks.csv", `a\n${"x\n".repeat(40_000)}"x`);
  const { code, stderr } = await importing("dry-breaks.csv", "dry-breaks", "--dry-run");
  expect(code).toBe(1);
  expect(stderr).toMatch(/line 40002: .* Nothing was stored\.\n$/);
  await expect(stored("dry-breaks")).rejects.toThrow("does not exist");
});

test("an import reaches one workspace only", async () => {
  await give("mine.csv", "a\n1\n");
  await importing("mine.csv", "mine");
  expect(await at.gabbro("export", "dataset", "mine", "--workspace", "other")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: 'gabbro: Dataset "mine" does not exist.\n',
  });
  expect(await importing("mine.csv", "mine", "--workspace", "other", "--key", "a")).toMatchObject({
    code: 0,
  });
  expect(await importing("mine.csv", "mine", "--workspace", "other", "--key", "a")).toMatchObject({
    code: 0,
  });
  expect((await stored("mine")).rows).toMatchObject([{ key: null }]);
  expect((await stored("mine", "other")).rows).toMatchObject([{ key: "1" }]);
});

test.each<[number, string, string]>([
  [2, "import dataset there.csv", "required option '--slug <slug>' not specified"],
  [
    2,
    "import dataset a.txt --slug a",
    "The ending of a.txt names no format. Name it with --format: csv, json, jsonl.",
  ],
  [2, "import dataset there.csv --slug x --format xml", "Allowed choices are csv, json, jsonl"],
  [1, "import dataset there.csv --slug UPPER", "slug must be lower-case letters"],
  [1, "import dataset there.csv --slug x --workspace nope", 'workspace "nope" does not exist'],
  [1, "export dataset nope", 'Dataset "nope" does not exist.'],
  [2, "export dataset dated --at 1.5", "--at must be a whole number from 1."],
  [2, "export dataset nope --output nope.txt", "The ending of nope.txt names no format"],
  [2, "export logs --from 2026-02-30", "not an existing time"],
])("a command that cannot run says why and ends with %i: gabbro %s", async (code, command, reason) => {
  await give("there.csv", "a\n1\n");
  const ended = await at.gabbro(...command.split(" "));
  expect(ended).toMatchObject({ code, stdout: "" });
  expect(ended.stderr).toContain(reason);
});

async function log(startTime: string, output: unknown, workspace = "other") {
  const record = {
    slug: "logged",
    output,
    startTime,
    inputTokens: 1,
    outputTokens: 1,
    user: { id: "u1", name: "=HYPERLINK()" },
    name: "a trace",
  };
  return (await logPrompt(await at.contextOf(workspace), logPromptRecord.parse(record))).log.id;
}

test("logs are exported from a moment on and before another, the oldest first, from one workspace", async () => {
  const late = await log("2026-03-01T00:00:00.000Z", "late");
  const ids = [];
  for (let n = 0; n < 250; n++) ids.push(await log("2026-02-01T00:00:00.000Z", { n }));
  const first = await log("2026-01-01T00:00:00.000Z", "=cmd()");
  const outputs = (stdout: string) =>
    stdout
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const exporting = async (...args: string[]) =>
    (await at.gabbro("export", "logs", "--workspace", "other", ...args)).stdout;
  expect(outputs(await exporting()).map(({ id }) => id)).toEqual([first, ...ids, late]);
  expect(outputs(await exporting("--from", "2026-01-01", "--to", "2026-02-01"))).toMatchObject([
    {
      id: first,
      output: "=cmd()",
      promptSlug: "logged",
      startTime: "2026-01-01T00:00:00.000Z",
      user: { id: "u1", name: "=HYPERLINK()" },
      costSource: "UNPRICED",
    },
  ]);
  expect(outputs(await exporting("--from", "2026-02-01T00:00:00.001Z")).map(({ id }) => id)).toEqual([late]);
  expect(
    outputs(await exporting("--from", "2026-02-01T00:00:00Z", "--to", "2026-03-01")).map(({ id }) => id),
  ).toEqual(ids);
  expect((await at.gabbro("export", "logs")).stdout).toBe("");
});

test("in the CSV of logs no cell runs as a formula", async () => {
  await createWorkspace((await at.contextOf()).database, "formulas");
  await log("2026-01-01T00:00:00.000Z", "=cmd()", "formulas");
  const { stdout } = await at.gabbro("export", "logs", "--workspace", "formulas", "--format", "csv");
  const [header, row, ...rest] = stdout.trim().split("\n");
  expect(header!.split(",")).toEqual(
    expect.arrayContaining(["id", "traceId", "output", "latencyMs", "cost", "userName"]),
  );
  expect(row).toContain(",'=cmd(),");
  expect(row).toContain(",'=HYPERLINK(),");
  expect(rest).toEqual([]);
});
