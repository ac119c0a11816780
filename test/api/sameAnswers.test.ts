import { afterAll, expect, test } from "vitest";
import { addDataset, addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

await addDataset(server, {
  slug: "table",
  columns: [{ name: "a", type: "text" }],
  rows: [{ values: { a: "1", gone: "x" }, idealOutput: "y", metadata: { z: 1 } }],
});
await addPrompt(server, { slug: "draft", versions: [{ version: "0.1.0" }] });

interface Outcome {
  answer: unknown;
  warning: string | null;
  error: { code: string; message: string; details: unknown } | null;
}

/** One operation through both APIs, each with the outcome in the same shape. */
const operations = {
  dataset: {
    rest: ({ slug }: Input) =>
      restOutcome("GET", `/datasets/${encodeURIComponent(slug as string)}`, undefined, "dataset"),
    graphql: (input: Input) =>
      graphqlOutcome(
        "query($slug: String!) { dataset(slug: $slug) { slug name columns { name type } version rows { nodes { id values idealOutput metadata } } warning } }",
        input,
        ({ dataset: { warning, rows, columns, ...dataset } }) => ({
          answer: { ...dataset, columns: columns.map(typeInLowerCase), rows: rows.nodes },
          warning,
        }),
      ),
  },
  addDatasetItem: {
    rest: ({ slug, input }: Input) =>
      withoutId(restOutcome("POST", `/datasets/${slug}/items`, input, "datasetRow")),
    graphql: (input: Input) =>
      graphqlOutcome(
        "mutation($slug: String!, $input: DatasetItemInput!) { addDatasetItem(slug: $slug, input: $input) { datasetRow { name values idealOutput metadata } warning } }",
        input,
        ({ addDatasetItem: { warning, datasetRow } }) => ({
          answer: withoutNulls(datasetRow, "name", "idealOutput"),
          warning,
        }),
      ),
  },
  describePrompt: {
    rest: ({ slug, ...choice }: Input) =>
      restOutcome(
        "GET",
        `/prompts/${encodeURIComponent(slug as string)}/describe?${new URLSearchParams(choice as Record<string, string>)}`,
        undefined,
        "prompt",
      ),
    graphql: (input: Input) =>
      graphqlOutcome(
        "query($slug: String!, $version: String, $tag: String) { describePrompt(slug: $slug, version: $version, tag: $tag) { slug name status description availableVersions availableTags variables { label type description } version tag warning } }",
        input,
        ({ describePrompt: { warning, variables, status, ...prompt } }) => ({
          answer: {
            ...prompt,
            status: status.toLowerCase(),
            variables: variables.map((each: Input) => withoutNulls(each, "description")),
          },
          warning,
        }),
      ),
  },
  logPrompt: {
    rest: ({ input }: Input) => restOutcome("POST", "/monitor/log", input),
    graphql: ({ input }: Input) =>
      graphqlOutcome(
        "mutation($input: LogPromptInput!) { logPrompt(input: $input) { trace { id } log { id } warning } }",
        { input },
        ({ logPrompt: { warning } }) => ({ answer: undefined, warning }),
      ),
  },
};

type Input = Record<string, unknown>;
type Operation = keyof typeof operations;

async function restOutcome(method: string, path: string, body: unknown, key?: string): Promise<Outcome> {
  const answer = await server.request(method, path, body);
  const { error, code, details, warning = null } = answer.body;
  if (error !== undefined) return { answer: null, warning: null, error: { code, message: error, details } };
  return { answer: key && answer.body[key], warning, error: null };
}

async function graphqlOutcome(
  query: string,
  variables: Input,
  // biome-ignore lint/suspicious/noExplicitAny: the data has the shape of whatever was asked
  toOutcome: (data: any) => Omit<Outcome, "error">,
): Promise<Outcome> {
  const outcomeOf = async (accept: string): Promise<Outcome & { status: number }> => {
    const { status, body } = await server.graphql(query, variables, { headers: { accept } });
    if (!body.errors) return { status, ...toOutcome(body.data), error: null };
    const [{ message, extensions }] = body.errors;
    const { code, details } = extensions;
    return { status, answer: null, warning: null, error: { code, message, details } };
  };
  const direct = await outcomeOf("application/json");
  expect(await outcomeOf(YOGAS_OWN_TRANSPORT)).toEqual(direct);
  const { status: _, ...outcome } = direct;
  return outcome;
}

/** Who accepts something beside JSON is answered by Yoga itself, all others by our own transport. */
const YOGAS_OWN_TRANSPORT = "application/json, multipart/mixed";

/** Both APIs add a row of their own. */
async function withoutId(adding: Promise<Outcome>): Promise<Outcome> {
  const outcome = await adding;
  const { id, ...answer } = (outcome.answer ?? {}) as Input;
  if (outcome.error === null) expect(id).toBeTypeOf("string");
  return { ...outcome, answer: outcome.error === null ? answer : outcome.answer };
}

/** REST has the values of enums in lower case. */
const typeInLowerCase = (column: { type: string }) => ({ ...column, type: column.type.toLowerCase() });

/** REST leaves these members out. */
function withoutNulls(all: Input, ...members: string[]): Input {
  const kept = Object.entries(all).filter(([name, value]) => value !== null || !members.includes(name));
  return Object.fromEntries(kept);
}

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
const row = { values: { a: "1" } };
const record = { slug: "country-guide", output: "ok" };

const accepted: [string, Operation, Input][] = [
  ["a dataset", "dataset", { slug: "country-quiz" }],
  ["a dataset with hidden values", "dataset", { slug: "table" }],
  ["a row", "addDatasetItem", { slug: "table", input: row }],
  [
    "a row with everything",
    "addDatasetItem",
    {
      slug: "table",
      input: { name: "n", values: { a: [1, { b: null }] }, idealOutput: "i", metadata: { kind: 1 } },
    },
  ],
  [
    "a row with nulls",
    "addDatasetItem",
    { slug: "table", input: { name: null, values: {}, idealOutput: null, metadata: null } },
  ],
  [
    "a row with values of unknown columns",
    "addDatasetItem",
    { slug: "table", input: { values: { a: "1", b: "2" } } },
  ],
  ["a value of 100 levels", "addDatasetItem", { slug: "table", input: { values: { a: deep(99) } } }],
  ["a prompt", "describePrompt", { slug: "country-guide" }],
  ["a prompt by version", "describePrompt", { slug: "country-guide", version: "1.0.0" }],
  ["a prompt by an unknown tag", "describePrompt", { slug: "country-guide", tag: "x" }],
  ["a draft", "describePrompt", { slug: "draft" }],
  ["a record", "logPrompt", { input: record }],
  ["a record of an unknown prompt", "logPrompt", { input: { ...record, slug: "ghost" } }],
  [
    "a record with nulls",
    "logPrompt",
    {
      input: {
        ...record,
        name: null,
        input: null,
        variables: null,
        startTime: null,
        inputTokens: null,
        cost: null,
        user: null,
        metadata: null,
      },
    },
  ],
  ["a record with an unknown version", "logPrompt", { input: { ...record, version: "9" } }],
];

test.each(accepted)("both APIs answer the same: %s", async (_, operation, input) => {
  const rest = await operations[operation].rest(input);
  expect(rest.error).toBeNull();
  expect(await operations[operation].graphql(input)).toEqual(rest);
});

/** Which to compare with a number throws. */
const unmeasurable = { length: { toString: 1, valueOf: 1 } };
const required = "is required";
const text = "must be a string";
const object = "must be an object";
const nul = "must not contain the character NUL (U+0000)";
const surrogate = "must not contain half of a surrogate pair (a lone surrogate)";
const depth = "must not be nested deeper than 100 levels";
const time =
  "must be an existing time as ISO 8601, such as 2026-01-31T09:30:00Z, or as epoch milliseconds, in the years 1 to 9999";

const refusedRows: [string, unknown, [path: string, message: string][]][] = [
  ["no values", {}, [["values", required]]],
  ["values of null", { values: null }, [["values", object]]],
  ["values in a list", { values: [] }, [["values", object]]],
  ["values in a text", { values: "a" }, [["values", object]]],
  ["a name that is a number", { ...row, name: 5 }, [["name", text]]],
  ["an operator in place of the name", { ...row, name: { $ne: null } }, [["name", text]]],
  ["a name that has a length", { ...row, name: { length: 9_999 } }, [["name", text]]],
  ["a name whose length is no number", { ...row, name: unmeasurable }, [["name", text]]],
  ["an ideal output that is an object", { ...row, idealOutput: {} }, [["idealOutput", text]]],
  ["metadata in a list", { ...row, metadata: [1] }, [["metadata", "must be an object or null"]]],
  ["NUL in a value", { values: { a: { b: ["x", "\0"] } } }, [["values.a.b.1", nul]]],
  ["NUL in a key", { values: { "a\0": 1 } }, [["values", `has a key that ${nul}`]]],
  ["NUL in the name", { ...row, name: "\0" }, [["name", nul]]],
  ["half a surrogate pair in a value", { values: { a: "\ud83d" } }, [["values.a", surrogate]]],
  ["half a surrogate pair in metadata", { ...row, metadata: { a: "\udc00x" } }, [["metadata.a", surrogate]]],
  ["values deeper than 100", { values: { a: deep(100) } }, [["values.a.0.0.0.0.0.0.0.0.…", depth]]],
  [
    "several faults",
    { name: 1, metadata: 2 },
    [
      ["name", text],
      ["values", required],
      ["metadata", "must be an object or null"],
    ],
  ],
];

const refusedRecords: [string, unknown, [path: string, message: string][]][] = [
  [
    "nothing",
    {},
    [
      ["slug", required],
      ["output", required],
    ],
  ],
  ["no slug", { output: 1 }, [["slug", required]]],
  ["an empty slug", { ...record, slug: "" }, [["slug", "must not be empty"]]],
  ["an operator in place of the slug", { ...record, slug: { $ne: null } }, [["slug", text]]],
  ["no output", { slug: "x" }, [["output", required]]],
  ["an output of null", { slug: "x", output: null }, [["output", "must not be null"]]],
  ["an output deeper than 100", { slug: "x", output: deep(101) }, [["output.0.0.0.0.0.0.0.0.0.…", depth]]],
  ["NUL in the output", { slug: "x", output: "a\0b" }, [["output", nul]]],
  ["half a surrogate pair in the input", { ...record, input: ["\udfff"] }, [["input.0", surrogate]]],
  ["a version that is a number", { ...record, version: 1 }, [["version", text]]],
  ["a tag in a list", { ...record, tag: ["production"] }, [["tag", text]]],
  ["a slug whose length is no number", { ...record, slug: unmeasurable }, [["slug", text]]],
  [
    "variables whose length is no number",
    { ...record, variables: unmeasurable },
    [["variables", "must be a list"]],
  ],
  ["variables in an object", { ...record, variables: { a: "b" } }, [["variables", "must be a list"]]],
  [
    "a variable without a label",
    { ...record, variables: [{ value: "b" }] },
    [["variables.0.label", required]],
  ],
  [
    "a variable whose value is a number",
    { ...record, variables: [{ label: "a", value: 5 }] },
    [["variables.0.value", text]],
  ],
  ["a day that does not exist", { ...record, startTime: "2026-02-29T00:00:00Z" }, [["startTime", time]]],
  ["an hour that does not exist", { ...record, endTime: "2026-02-28T25:00:00Z" }, [["endTime", time]]],
  ["a time in words", { ...record, startTime: "yesterday" }, [["startTime", time]]],
  ["a time that is true", { ...record, startTime: true }, [["startTime", time]]],
  ["a time too large", { ...record, startTime: 1e300 }, [["startTime", time]]],
  [
    "the end before the start",
    { ...record, startTime: 2, endTime: 1 },
    [["endTime", "must not be before startTime"]],
  ],
  [
    "negative tokens",
    { ...record, inputTokens: -1, outputTokens: -5 },
    [
      ["inputTokens", "must be at least 0"],
      ["outputTokens", "must be at least 0"],
    ],
  ],
  ["half a token", { ...record, inputTokens: 1.5 }, [["inputTokens", "must be a whole number"]]],
  ["tokens in a text", { ...record, outputTokens: "5" }, [["outputTokens", "must be a number"]]],
  [
    "more tokens than fit",
    { ...record, outputTokens: 2 ** 31 },
    [["outputTokens", "must be at most 2147483647"]],
  ],
  ["a negative cost", { ...record, cost: -0.01 }, [["cost", "must be at least 0"]]],
  ["a cost beyond all sums", { ...record, cost: 1.7e308 }, [["cost", "must be at most 1000000000"]]],
  ["a user without an id", { ...record, user: { name: "x" } }, [["user.id", required]]],
  ["a user that is a text", { ...record, user: "u-1" }, [["user", object]]],
  [
    "an organization whose id is a number",
    { ...record, organization: { id: 5 } },
    [["organization.id", text]],
  ],
  ["metadata that is a text", { ...record, metadata: "x" }, [["metadata", "must be an object or null"]]],
];

const refused: [string, Operation, Input, [string, string][]][] = [
  ...refusedRows.map(([title, input, faults]): [string, Operation, Input, [string, string][]] => [
    title,
    "addDatasetItem",
    { slug: "table", input },
    faults,
  ]),
  ...refusedRecords.map(([title, input, faults]): [string, Operation, Input, [string, string][]] => [
    title,
    "logPrompt",
    { input },
    faults,
  ]),
];

async function countStored(): Promise<number> {
  const tables = ["DatasetRow", "Trace", "Log"] as const;
  const counts = await Promise.all(
    tables.map((table) =>
      server.database.read
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<number>().as("n"))
        .executeTakeFirstOrThrow(),
    ),
  );
  return counts.reduce((sum, { n }) => sum + Number(n), 0);
}

test.each(refused)(
  "both APIs refuse the same with the same words, and nothing is stored: %s (%s)",
  async (_, operation, input, faults) => {
    const before = await countStored();
    const rest = await operations[operation].rest(input);
    expect(rest.error?.code).toBe("BAD_INPUT");
    expect(rest.error?.details).toEqual(faults.map(([path, message]) => ({ path, message })));
    expect(rest.error?.message).toBe(
      `Invalid input: ${faults
        .slice(0, 3)
        .map(([path, message]) => `${path} ${message}`)
        .join("; ")}.`,
    );
    expect(await operations[operation].graphql(input)).toEqual(rest);
    expect(await countStored()).toBe(before);
  },
);

test.each([
  ["a dataset", "dataset", { slug: "nope" }, "DATASET_NOT_FOUND"],
  ["a dataset to add to", "addDatasetItem", { slug: "nope", input: row }, "DATASET_NOT_FOUND"],
  ["a prompt", "describePrompt", { slug: "nope" }, "PROMPT_NOT_FOUND"],
  ["a slug with NUL", "dataset", { slug: "a\0" }, "BAD_INPUT"],
  ["a version with NUL", "describePrompt", { slug: "country-guide", version: "\0" }, "BAD_INPUT"],
] as [string, Operation, Input, string][])(
  "both APIs say the same of what is not there: %s",
  async (_, operation, input, code) => {
    const rest = await operations[operation].rest(input);
    expect(rest.error?.code).toBe(code);
    expect(await operations[operation].graphql(input)).toEqual(rest);
  },
);

test("what is written in the document itself is judged like what comes in variables", async () => {
  const { body } = await server.graphql(
    'mutation { logPrompt(input: {slug: 5, output: null, startTime: "2026-02-30"}) { warning } }',
  );
  expect(body.errors[0].extensions.details).toEqual([
    { path: "slug", message: text },
    { path: "output", message: "must not be null" },
    { path: "startTime", message: time },
  ]);
  const huge = await server.graphql('mutation { logPrompt(input: {slug: "x", output: 1e999}) { warning } }');
  expect(huge.body.errors[0].message).toBe("Invalid input: output must be a finite number.");
  const proto = await server.graphql(
    'mutation { logPrompt(input: {slug: "x", output: {__proto__: 1}}) { warning } }',
  );
  expect(proto.body.errors[0].message).toBe(
    'Invalid input: output has a key that must not be named "__proto__".',
  );
});

test("errors belong to the operation that was asked for, also within fragments and nested fields", async () => {
  const query = `query A($n: String) { ...F } fragment F on Query { dataset(slug: "table") { rows(after: $n) { nodes { id } } } }
    mutation B($s: String!) { createPrompt(input: { slug: $s }) { prompt { slug } } }`;
  const { body } = await server.post("/graphql", { query, operationName: "A", variables: { n: 5 } });
  expect(body.errors[0].extensions.details).toEqual([{ path: "after", message: "must be a string" }]);
});

test("errors never repeat what was sent", async () => {
  const secret = "canary-8c1f";
  const answers = await Promise.all([
    server.post("/monitor/log", { slug: "x", output: 1, version: { secret } }),
    server.post("/monitor/log", `{"slug": "${secret}`),
    server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { warning } }", {
      i: { slug: "x", output: 1, [secret.slice(7)]: secret },
    }),
    server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { warning } }", {
      i: { slug: { secret }, output: 1, extra: secret },
    }),
    server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { warning } }", { i: secret }),
    server.graphql("query($s: String!) { dataset(slug: $s) { slug } }", { s: [secret] }),
  ]);
  for (const { body } of answers) {
    expect(body.error ?? body.errors).toBeDefined();
    expect(JSON.stringify(body)).not.toContain(secret);
  }
});
