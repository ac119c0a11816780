import { v7 as uuidv7 } from "uuid";
import { afterAll, describe, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { ownPriceFinder } from "../../src/pricing/resolvers.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt, addToken, addWorkspace, model } from "../support/data.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");

const noId = "01890a5d-ac96-774b-bcce-b302099a8057";
const SET = `mutation($model: String!, $provider: String, $inputPrice: Float!, $outputPrice: Float!, $validFrom: DateTime) {
  setModelPrice(input: { model: $model, provider: $provider, inputPrice: $inputPrice, outputPrice: $outputPrice, validFrom: $validFrom }) { modelPrice {
    id model provider inputPrice outputPrice validFrom createdAt
  } }
}`;
const LIST =
  "query($model: String, $first: Int, $after: String) { modelPrices(model: $model, first: $first, after: $after) { nodes { id model provider inputPrice outputPrice validFrom } } }";
const REPRICE = `mutation($from: DateTime!, $to: DateTime!, $dryRun: Boolean) {
  repriceLogs(input: { from: $from, to: $to, dryRun: $dryRun }) { examined changed priced unpriced costBefore costAfter dryRun }
}`;
const DELETE = "mutation($id: ID!) { deleteModelPrice(id: $id) { deletedModelPriceId } }";
const always = { from: "0001-01-01", to: "9999-12-31" };

interface NewPrice {
  model: string;
  provider?: string | null;
  inputPrice?: number;
  outputPrice?: number;
  validFrom?: string | null;
}

const setPrice = async (price: NewPrice, token?: string) => {
  const set = await server.run(SET, { inputPrice: 1, outputPrice: 0, ...price }, token);
  expect(set.error).toBeUndefined();
  return set;
};
const deletePrice = (id: string, token?: string) => server.run(DELETE, { id }, token);
const reprice = (input: object = always, token?: string) =>
  server.run(REPRICE, { ...always, ...input }, token);
const audited = (action: string, token?: string) =>
  server
    .run("{ auditLog(first: 1000) { nodes { action subject before after } } }", {}, token)
    .then((entries: { action: string }[]) => entries.filter((entry) => entry.action === action));

/** A name that nothing else in these tests has, and that the service's own list does not know. */
let names = 0;
const newName = () => `house-model-${++names}`;

/** The cost of a call of a model with a million tokens of input and two million of output, logged over REST. */
async function costOf(served: { provider?: string | null; model: string }, record = {}, team?: typeof other) {
  const slug = `prompt-${++names}`;
  await addPrompt(server, {
    slug,
    versions: [{ version: "1", model: model(served.provider ?? null, served.model) }],
    tags: { production: "1" },
    ...(team && { workspace: team.name }),
  });
  const call = { slug, output: "ok", inputTokens: 1_000_000, outputTokens: 2_000_000, ...record };
  const { body } = await server.post("/monitor/log", call, team ? { token: team.token } : {});
  return readCost(body.log.id, team?.token);
}

const readCost = (id: string, token?: string): Promise<{ cost: number | null; costSource: string }> =>
  server.run("query($id: ID!) { log(id: $id) { cost costSource } }", { id }, token);

describe("an own price", () => {
  // The service's own list says 2.50 US dollars a million tokens of input of gpt-4o, and 10 of output.
  test("wins over the price that the service knows, and ends when it is removed", async () => {
    const call = { provider: "openai", model: "gpt-4o" };
    expect(await costOf(call)).toEqual({ cost: 22.5, costSource: "COMPUTED" });
    const { id } = await setPrice({ model: "gpt-4o", inputPrice: 0.5, outputPrice: 0.25 });
    expect(await costOf(call)).toEqual({ cost: 1, costSource: "COMPUTED" });
    expect(await deletePrice(id)).toBe(id);
    expect(await costOf(call)).toEqual({ cost: 22.5, costSource: "COMPUTED" });
  });

  test("gives a model its price that nobody else knows", async () => {
    const name = newName();
    expect(await costOf({ model: name })).toEqual({ cost: null, costSource: "UNPRICED" });
    await setPrice({ model: name, inputPrice: 3, outputPrice: 4 });
    expect(await costOf({ model: name })).toEqual({ cost: 11, costSource: "COMPUTED" });
  });

  test("may be 0", async () => {
    const name = newName();
    await setPrice({ model: name, inputPrice: 0, outputPrice: 0 });
    expect(await costOf({ model: name })).toEqual({ cost: 0, costSource: "COMPUTED" });
  });

  test("is read once for all spans of a request with its model, and no other price is", async () => {
    await setPrice({ model: "read-once", inputPrice: 3 });
    const spanOf = (model: string) =>
      newSpan({
        attributes: [
          { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
          { key: "gen_ai.request.model", value: { stringValue: model } },
          { key: "gen_ai.usage.input_tokens", value: { intValue: 1_000_000 } },
          { key: "gen_ai.usage.output_tokens", value: { intValue: 0 } },
        ],
      });
    const spans = Array.from({ length: 30 }, (_, n) => spanOf(n % 2 ? "read-once" : "read-never"));
    const stop = await captureStatements(server);
    expect((await send(server, encodeSpans(spans))).status).toBe(200);
    const asked = stop().filter(({ sql }) => /from [`"]model_prices[`"]/.test(sql));
    expect([1, 2]).toContain(asked.length); // SQLite prepares one statement for both
    for (const { sql } of asked) expect(sql).toMatch(/[`"]model[`"] = /);
    const logs = await server.run('{ logs(filter: { model: ["read-once"] }) { nodes { cost } } }');
    expect(logs).toEqual(Array(15).fill({ cost: 3 }));
  });

  test("is read once for all logs that a span has recounted", async () => {
    await setPrice({ model: "recounted", inputPrice: 3 });
    const first = newSpan();
    const spanOf = (at: number, tokens: number) =>
      newSpan({
        ...{ traceId: first.traceId, spanId: Buffer.from(`0000000${at}`.slice(-8)) },
        parentSpanId: at === 10 ? Buffer.alloc(0) : Buffer.from(`0000000${at - 1}`.slice(-8)),
        attributes: [
          { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
          { key: "gen_ai.request.model", value: { stringValue: "recounted" } },
          { key: "gen_ai.usage.input_tokens", value: { intValue: tokens } },
          { key: "gen_ai.usage.output_tokens", value: { intValue: 0 } },
        ],
      });
    const chain = Array.from({ length: 30 }, (_, n) => spanOf(10 + n, 1_000_000));
    expect((await send(server, encodeSpans(chain))).status).toBe(200);
    const costs = async () => {
      const logs = await server.run(
        '{ logs(filter: { model: ["recounted"] }, first: 100) { nodes { cost } } }',
      );
      return (logs as { cost: number | null }[]).filter(({ cost }) => cost !== null).length;
    };
    expect(await costs()).toBe(1); // the others only repeat it
    const stop = await captureStatements(server);
    expect((await send(server, encodeSpans([spanOf(40, 500_000)]))).status).toBe(200);
    const asked = stop().filter(({ sql }) => /from [`"]model_prices[`"]/.test(sql));
    expect(await costs()).toBe(31);
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  test("holds since it began: of two, calls before the later one cost what the earlier one says", async () => {
    await setPrice({ model: "twice", inputPrice: 1, validFrom: "2020-01-01" });
    await setPrice({ model: "twice", inputPrice: 2, validFrom: "2021-01-01" });
    await setPrice({ model: "twice", inputPrice: 3, validFrom: "2400-01-01" });
    const starts = ["2019-06-01", "2020-06-01", "2021-01-01", "2022-06-01", "2400-06-01"];
    const spans = starts.map((day) => {
      const span = newSpan({
        attributes: [
          { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
          { key: "gen_ai.request.model", value: { stringValue: "twice" } },
          { key: "gen_ai.usage.input_tokens", value: { intValue: 1_000_000 } },
          { key: "gen_ai.usage.output_tokens", value: { intValue: 0 } },
        ],
      });
      return {
        ...span,
        startTimeUnixNano: `${Date.parse(day)}000000`,
        endTimeUnixNano: `${Date.parse(day)}000000`,
      };
    });
    expect((await send(server, encodeSpans(spans))).status).toBe(200);
    const logs = await server.run('{ logs(filter: { model: ["twice"] }) { nodes { startTime cost } } }');
    const costs = Object.fromEntries(
      logs.map(({ startTime, cost }: { startTime: string; cost: number | null }) => [
        startTime.slice(0, 10),
        cost,
      ]),
    );
    expect(costs).toEqual({
      ...{ "2019-06-01": null, "2020-06-01": 1, "2021-01-01": 2, "2022-06-01": 2, "2400-06-01": 3 },
    });
  });

  test("never changes a cost that the caller reports", async () => {
    const name = newName();
    await setPrice({ model: name });
    expect(await costOf({ model: name }, { cost: 0.125 })).toEqual({ cost: 0.125, costSource: "REPORTED" });
    expect(await costOf({ model: name }, { cost: 0 })).toEqual({ cost: 0, costSource: "REPORTED" });
  });

  test("prices tokens that were counted, to 12 decimals", async () => {
    const name = newName();
    await setPrice({ model: name, inputPrice: 0.1, outputPrice: 0.2 });
    const counted = { input: "hello world", inputTokens: null, output: "hi", outputTokens: null };
    expect((await costOf({ model: name }, counted)).cost).toBe(0.0000004);
    expect((await costOf({ model: name }, { inputTokens: 3, outputTokens: 0 })).cost).toBe(0.0000003);
    const unseen = { input: null, inputTokens: null };
    expect(await costOf({ model: name }, unseen)).toEqual({ cost: null, costSource: "UNPRICED" });
  });

  test.each<[string, NewPrice[], { provider?: string | null; model?: string; at?: string }, number | null]>([
    ["without a provider it holds for any", [{ model: "", inputPrice: 1 }], { provider: "x" }, 1],
    ["without a provider it holds for none", [{ model: "", inputPrice: 1 }], { provider: null }, 1],
    ["the empty provider is any", [{ model: "", provider: "", inputPrice: 1 }], { provider: "x" }, 1],
    ["for another provider it does not hold", [{ model: "", provider: "y" }], { provider: "x" }, null],
    ["for a provider it does not hold for none", [{ model: "", provider: "y" }], { provider: null }, null],
    ["of a longer name it does not hold", [{ model: "-mini" }], {}, null],
    [
      "in other cases it holds",
      [{ model: "-MINI ", provider: " OpenAI" }],
      { provider: "OPENAI", model: "-Mini" },
      1,
    ],
    [
      "one for the provider wins over one for any, even a later one",
      [
        { model: "", inputPrice: 1, validFrom: "2026-02-01" },
        { model: "", provider: "a-provider", inputPrice: 2, validFrom: "2026-01-01" },
      ],
      { provider: "a-provider" },
      2,
    ],
    [
      "one for the provider that is not valid yet leaves it to the one for any",
      [
        { model: "", inputPrice: 1 },
        { model: "", provider: "x", inputPrice: 2, validFrom: "2026-03-01T00:00:00.001Z" },
      ],
      { provider: "x" },
      1,
    ],
    [
      "the latest that is valid holds, whatever the order of setting",
      [
        { model: "", inputPrice: 3, validFrom: "2026-03-01" },
        { model: "", inputPrice: 4, validFrom: "2027-01-01" },
        { model: "", inputPrice: 1 },
        { model: "", inputPrice: 2, validFrom: "2026-02-01" },
      ],
      {},
      3,
    ],
    [
      "a millisecond before it begins it does not hold",
      [{ model: "", validFrom: "2026-03-01" }],
      { at: "2026-02-28T23:59:59.999Z" },
      null,
    ],
    [
      "at the millisecond that it begins it holds",
      [{ model: "", validFrom: "2026-03-01" }],
      { at: "2026-03-01" },
      1,
    ],
    ["without a time it has always held", [{ model: "" }], { at: "0001-01-01" }, 1],
  ])("holds for a call, and for repricing it: %s", async (_, prices, call, cost) => {
    const team = await addWorkspace(server, newName());
    const name = newName();
    const served = { provider: call.provider ?? null, model: name + (call.model ?? "") };
    const at = { startTime: call.at ?? "2026-03-01", outputTokens: 0 };
    expect((await costOf(served, at, team)).cost).toBeNull();
    for (const price of prices) await setPrice({ ...price, model: name + price.model }, team.token);
    const costSource = cost === null ? "UNPRICED" : "COMPUTED";
    expect(await costOf(served, at, team)).toEqual({ cost, costSource });
    expect(await reprice({}, team.token)).toMatchObject({
      changed: cost === null ? 0 : 1,
      costAfter: 2 * (cost ?? 0),
    });
  });

  test("does nothing in another workspace, where it is not to be seen or removed", async () => {
    const name = newName();
    const { id } = await setPrice({ model: name });
    expect((await costOf({ model: name }, {}, other)).cost).toBeNull();
    expect(await reprice({}, other.token)).toMatchObject({ examined: 1, changed: 0 });
    expect(await server.run(LIST, { model: name }, other.token)).toEqual([]);
    expect(await deletePrice(id, other.token)).toMatchObject({ error: { code: "PRICE_NOT_FOUND" } });
    expect(await server.run(LIST, { model: name })).toHaveLength(1);
  });

  test("is the same at both APIs", async () => {
    const name = newName();
    await setPrice({ model: name, inputPrice: 0.3, outputPrice: 0.7 });
    const versions = [{ version: "1", model: model("x", name) }];
    await addPrompt(server, { slug: "both-apis", versions, tags: { production: "1" } });
    const record = { slug: "both-apis", output: "ok", inputTokens: 1_234_567, outputTokens: 7_654_321 };
    const { body } = await server.post("/monitor/log", record);
    const { log } = await server.run(
      "mutation($input: LogPromptInput!) { logPrompt(input: $input) { log { cost costSource } } }",
      { input: record },
    );
    expect(log).toEqual({ cost: 5.7283948, costSource: "COMPUTED" });
    expect(await readCost(body.log.id)).toEqual(log);
  });
});

describe("prices are kept", () => {
  test("setting one for the same model, provider and time again replaces it", async () => {
    const name = newName();
    const cases = [
      {},
      { provider: "openai" },
      { validFrom: "2026-01-01" },
      { provider: "openai", validFrom: 0 },
    ];
    const set: { id: string }[] = [];
    for (const more of cases)
      set.push(await server.run(SET, { model: name, inputPrice: 1, outputPrice: 1, ...more }));
    for (const [at, more] of cases.entries()) {
      const written = {
        model: name.toUpperCase(),
        ...more,
        ...("provider" in more && { provider: "OpenAI" }),
      };
      const again = await server.run(SET, { ...written, inputPrice: 2, outputPrice: 3 });
      expect(again).toEqual({ ...set[at], inputPrice: 2, outputPrice: 3 });
    }
    expect(await server.run(LIST, { model: ` ${name.toUpperCase()}` })).toHaveLength(cases.length);
  });

  test("one comes back as it was set", async () => {
    const name = newName();
    const whole = { model: name, provider: "azure", inputPrice: 0.15, outputPrice: 1e-7 };
    const set = await setPrice({ ...whole, validFrom: "2026-01-31T10:30:00.250+01:00" });
    expect(set).toMatchObject({ ...whole, validFrom: "2026-01-31T09:30:00.250Z" });
    const bare = await setPrice({ model: name });
    expect(bare).toMatchObject({ provider: null, validFrom: null });
    expect(Date.now() - Date.parse(bare.createdAt)).toBeLessThan(10_000);
    const { createdAt: _, ...listed } = set;
    expect(await server.run(LIST, { model: name })).toEqual([
      expect.objectContaining({ id: bare.id }),
      listed,
    ]);
  });

  test("they are listed the latest first, in pages without gaps", async () => {
    const team = await addWorkspace(server, newName());
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await setPrice({ model: newName() }, team.token)).id);
    const page = async (first: number, after?: string) =>
      (await server.run(LIST, { first, after }, team.token)).map(({ id }: { id: string }) => id);
    expect(await page(1_000)).toEqual(ids);
    expect(await page(2)).toEqual(ids.slice(0, 2));
    expect(await page(2, toCursor(ids[1]!))).toEqual(ids.slice(2, 4));
    expect(await page(2, toCursor(ids[4]!))).toEqual([]);
  });

  test("every change of them stands in the audit log, and what changed nothing does not", async () => {
    const { token } = await addWorkspace(server, newName());
    const { id } = await setPrice({ model: "A", provider: "P", validFrom: "2026-01-01" }, token);
    await setPrice({ model: "a", provider: "p", validFrom: "2026-01-01" }, token);
    await setPrice({ model: "a", provider: "p", validFrom: "2026-01-01", outputPrice: 2 }, token);
    await deletePrice(id, token);
    const first = {
      model: "a",
      provider: "p",
      inputPrice: 1,
      outputPrice: 0,
      validFrom: "2026-01-01T00:00:00.000Z",
    };
    const second = { ...first, outputPrice: 2 };
    expect(await audited("setModelPrice", token)).toEqual([
      { action: "setModelPrice", subject: "a", before: first, after: second },
      { action: "setModelPrice", subject: "a", before: null, after: first },
    ]);
    expect(await audited("deleteModelPrice", token)).toEqual([
      { action: "deleteModelPrice", subject: "a", before: second, after: null },
    ]);
  });

  const price = "inputPrice: 1, outputPrice: 1";
  test.each([
    [
      "a price below 0",
      'setModelPrice(input: { model: "m", inputPrice: -0.1, outputPrice: 1 })',
      "inputPrice must be at least 0",
    ],
    [
      "the other price below 0",
      'setModelPrice(input: { model: "m", inputPrice: 1, outputPrice: -1 })',
      "outputPrice must be at least 0",
    ],
    [
      "an endless price",
      'setModelPrice(input: { model: "m", inputPrice: 1e999, outputPrice: 1 })',
      "inputPrice must be a finite number",
    ],
    [
      "an absurd price",
      'setModelPrice(input: { model: "m", inputPrice: 1000000.1, outputPrice: 1 })',
      "inputPrice must be at most 1000000",
    ],
    [
      "a text as a price",
      'setModelPrice(input: { model: "m", inputPrice: "1", outputPrice: 1 })',
      "inputPrice must be a number",
    ],
    ["no price", 'setModelPrice(input: { model: "m", inputPrice: 1 })', "outputPrice is required"],
    ["an empty model", `setModelPrice(input: { model: "", ${price} })`, "model must not be empty"],
    ["a model of spaces", `setModelPrice(input: { model: "  ", ${price} })`, "model must not be empty"],
    [
      "a long model",
      `setModelPrice(input: { model: "${"m".repeat(257)}", ${price} })`,
      "model must have at most 256 characters",
    ],
    [
      "a model that cannot be kept",
      `setModelPrice(input: { model: "\\u0000", ${price} })`,
      "model must not contain the character NUL (U+0000)",
    ],
    [
      "a long provider",
      `setModelPrice(input: { model: "m", provider: "${"p".repeat(257)}", ${price} })`,
      "provider must have at most 256 characters",
    ],
    [
      "an impossible time",
      `setModelPrice(input: { model: "m", validFrom: "2026-02-30", ${price} })`,
      "validFrom must be an existing time",
    ],
  ])("what cannot be one is refused: %s", async (_, field, message) => {
    const { error } = await server.run(`mutation { ${field} { modelPrice { id } } }`);
    expect(error).toMatchObject({ code: "BAD_INPUT", message: expect.stringContaining(message) });
    expect(await server.run(LIST, { model: "m" })).toEqual([]);
  });

  test.each([
    ["a bad id", 'mutation { deleteModelPrice(id: "1") { deletedModelPriceId } }', "BAD_INPUT"],
    [
      "an unknown id",
      `mutation { deleteModelPrice(id: "${noId}") { deletedModelPriceId } }`,
      "PRICE_NOT_FOUND",
    ],
    ["a bad cursor", '{ modelPrices(after: "1") { nodes { id } } }', "BAD_INPUT"],
    ["a page with two ends", "{ modelPrices(first: 1, last: 1) { nodes { id } } }", "BAD_INPUT"],
    ["too large a page", "{ modelPrices(first: 1001) { nodes { id } } }", "BAD_INPUT"],
  ])("asking for what cannot be is an error: %s", async (_, operation, code) => {
    expect((await server.run(operation)).error.code).toBe(code);
  });
});

/** Has the database do something when the log with that id is changed; gives what removes the trigger again. */
async function addTrigger(when: string, id: string, body: { sqlite: string; postgresql: string }) {
  const execute = (sql: string) => server.database.orm.em.fork().execute(sql);
  if (isOnPostgresql) {
    await execute(
      `create function act() returns trigger language plpgsql as $$ begin ${body.postgresql}; return new; end $$`,
    );
    await execute(
      `create trigger acting ${when} for each row when (new.id = '${id}') execute function act()`,
    );
    return () => execute("drop function act cascade");
  }
  await execute(`create trigger acting ${when} when new.id = '${id}' begin ${body.sqlite}; end`);
  return () => execute("drop trigger acting");
}

describe("repricing", () => {
  interface NewLog {
    at?: string;
    model?: string | null;
    provider?: string | null;
    inputTokens?: number | null;
    outputTokens?: number | null;
    cost?: number | null;
    costSource?: "REPORTED" | "COMPUTED" | "UNPRICED";
  }

  /** Stores logs as they may stand in a database, a million tokens of input each. */
  async function addLogs(workspace: string, logs: NewLog[]): Promise<string[]> {
    const trace = uuidv7();
    const nothing = { metadata: null, endTime: null, createdAt: new Date() };
    const parties = { organization: null, user: null };
    const startTime = new Date();
    await server.database.commit([
      ["Trace", { id: trace, workspace, name: "t", ...parties, startTime, ...nothing }],
    ]);
    const none = {
      version: null,
      tag: null,
      userId: null,
      organizationId: null,
      idealOutput: null,
      variables: null,
    };
    const rows = logs.map(({ at, ...log }) => ({
      ...{
        id: uuidv7(),
        workspace,
        trace,
        type: "generation" as const,
        prompt: null,
        promptSlug: "p",
        ...none,
      },
      ...{
        input: null,
        output: 1,
        latencyMs: null,
        searchId: null,
        startTime: new Date(at ?? "2026-03-01"),
        ...nothing,
      },
      ...{ provider: null, model: "house", inputTokens: 1_000_000, outputTokens: 0 },
      ...{ cost: null, costSource: "UNPRICED" as const, ...log },
    }));
    for (let from = 0; from < rows.length; from += 200) {
      await server.database.commit(rows.slice(from, from + 200).map((row) => ["Log", row]));
    }
    return rows.map(({ id }) => id);
  }

  const stored = (workspace: string) =>
    server.database.read
      .selectFrom("Log")
      .select(["id", "cost", "costSource"])
      .where("workspace", "=", workspace)
      .orderBy("id")
      .execute();

  test.each<[string, NewLog, [cost: number | null, costSource: string], object]>([
    [
      "an unpriced one gets its price",
      {},
      [5, "COMPUTED"],
      { examined: 1, changed: 1, priced: 1, costAfter: 5 },
    ],
    [
      "a computed one gets the price of now",
      { cost: 4, costSource: "COMPUTED" },
      [5, "COMPUTED"],
      { examined: 1, changed: 1, costBefore: 4, costAfter: 5 },
    ],
    [
      "one that costs the same is not changed",
      { cost: 5, costSource: "COMPUTED" },
      [5, "COMPUTED"],
      { examined: 1, costBefore: 5, costAfter: 5 },
    ],
    [
      "one whose price is gone becomes unpriced",
      { model: "priceless", cost: 4, costSource: "COMPUTED" },
      [null, "UNPRICED"],
      { examined: 1, changed: 1, unpriced: 1, costBefore: 4 },
    ],
    ["one without a price stays unpriced", { model: "priceless" }, [null, "UNPRICED"], { examined: 1 }],
    ["a reported one is never touched", { cost: 4, costSource: "REPORTED" }, [4, "REPORTED"], {}],
    ["a reported 0 is never touched", { cost: 0, costSource: "REPORTED" }, [0, "REPORTED"], {}],
    ["one without a model is left", { model: null }, [null, "UNPRICED"], {}],
    ["one without a count of input is left", { inputTokens: null }, [null, "UNPRICED"], {}],
    ["one without a count of output is left", { outputTokens: null }, [null, "UNPRICED"], {}],
    [
      "one without an own price gets that of the service, at the time of the call",
      { model: "o3", provider: "openai", at: "2025-05-01", cost: 4, costSource: "COMPUTED" },
      [10, "COMPUTED"],
      { examined: 1, changed: 1, costBefore: 4, costAfter: 10 },
    ],
    [
      "the provider counts",
      { model: "house", provider: "dear" },
      [9, "COMPUTED"],
      { examined: 1, changed: 1, priced: 1, costAfter: 9 },
    ],
  ])(
    "%s; a dry run reports the same and changes nothing, a second run finds nothing",
    async (_, log, now, counts) => {
      const { id, token } = await addWorkspace(server, newName());
      await setPrice({ model: "house", inputPrice: 5 }, token);
      await setPrice({ model: "house", provider: "dear", inputPrice: 9 }, token);
      await addLogs(id, [log]);
      const before = await stored(id);
      const figures = {
        examined: 0,
        changed: 0,
        priced: 0,
        unpriced: 0,
        costBefore: 0,
        costAfter: 0,
        ...counts,
      };

      expect(await reprice({ dryRun: true }, token)).toEqual({ ...figures, dryRun: true });
      expect(await stored(id)).toEqual(before);
      expect(await audited("repriceLogs", token)).toEqual([]);

      expect(await reprice({ dryRun: false }, token)).toEqual({ ...figures, dryRun: false });
      expect((await stored(id)).map(({ cost, costSource }) => [cost, costSource])).toEqual([now]);
      const times = { from: "0001-01-01T00:00:00.000Z", to: "9999-12-31T00:00:00.000Z" };
      const entry = { action: "repriceLogs", subject: "logs", before: null, after: { ...times, ...figures } };
      expect(await audited("repriceLogs", token)).toEqual([entry]);

      const { costAfter } = figures;
      const nothing = { changed: 0, priced: 0, unpriced: 0, costBefore: costAfter, costAfter, dryRun: false };
      expect(await reprice({}, token)).toEqual({ ...figures, ...nothing });
    },
  );

  test("goes from the first time, itself included, to the second, which is not, by the start of calls", async () => {
    const { id, token } = await addWorkspace(server, newName());
    const times = [
      "2026-02-28T23:59:59.999Z",
      "2026-03-01T00:00:00.000Z",
      "2026-03-31T23:59:59.999Z",
      "2026-04-01T00:00:00.000Z",
    ];
    const ids = await addLogs(
      id,
      times.map((at) => ({ at })),
    );
    await setPrice({ model: "house" }, token);
    expect(await reprice({ from: "2026-03-01", to: "2026-03-01" }, token)).toMatchObject({ examined: 0 });
    expect(await reprice({ from: "2026-03-01", to: "2026-04-01" }, token)).toMatchObject({
      examined: 2,
      changed: 2,
    });
    const priced = (await stored(id)).filter(({ cost }) => cost !== null).map((log) => log.id);
    expect(priced).toEqual([ids[1], ids[2]]);
  });

  test("leaves the logs of other workspaces alone", async () => {
    const [mine, theirs] = [await addWorkspace(server, newName()), await addWorkspace(server, newName())];
    await addLogs(mine.id, [{}]);
    await addLogs(theirs.id, [{}, {}]);
    for (const { token } of [mine, theirs]) await setPrice({ model: "house" }, token);
    expect(await reprice({}, mine.token)).toMatchObject({ examined: 1, changed: 1 });
    expect((await stored(theirs.id)).map(({ cost }) => cost)).toEqual([null, null]);
  });

  test("reaches every one of many logs once, also many of the same millisecond, and others write meanwhile", async () => {
    const { id, name, token } = await addWorkspace(server, newName());
    const logs = Array.from({ length: 1_200 }, (_, n): NewLog => {
      const at = new Date(Date.parse("2026-03-01") + (n % 4)).toISOString();
      return n % 3 === 0 ? { at, cost: 1, costSource: "REPORTED" } : { at };
    });
    await addLogs(id, logs);
    await setPrice({ model: "house", inputPrice: 0.1 }, token);
    const figures = { examined: 800, changed: 800, priced: 800, unpriced: 0, costBefore: 0, costAfter: 80 };
    expect(await reprice({ dryRun: true }, token)).toEqual({ ...figures, dryRun: true });
    const order: string[] = []; // a log of today stands outside of the time
    const [repriced] = await Promise.all([
      reprice({ to: "2026-04-01" }, token).finally(() => order.push("repriced")),
      costOf({ model: "other" }, {}, { id, name, token }).finally(() => order.push("logged")),
    ]);
    expect(order).toEqual(["logged", "repriced"]);
    expect(repriced).toEqual({ ...figures, dryRun: false });
    const all = await stored(id);
    expect(all.filter(({ cost, costSource }) => costSource === "COMPUTED" && cost === 0.1)).toHaveLength(800);
    expect(all.filter(({ cost, costSource }) => costSource === "REPORTED" && cost === 1)).toHaveLength(400);
    expect(await reprice({}, token)).toMatchObject({ changed: 0, costBefore: 80 });
    expect(await audited("repriceLogs", token)).toHaveLength(2);
  });

  test("ends at its next page when the service stops, and both its answer and its record tell so", async () => {
    await using own = await startServer();
    const attributes = [
      { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
      { key: "gen_ai.request.model", value: { stringValue: "house" } },
      { key: "gen_ai.usage.input_tokens", value: { intValue: 1 } },
    ];
    const spans = Array.from({ length: 2_000 }, () => newSpan({ attributes }));
    expect((await send(own, encodeSpans(spans))).status).toBe(200);
    await own.run(
      'mutation { setModelPrice(input: { model: "house", inputPrice: 1, outputPrice: 1 }) { __typename } }',
    );
    const turn = vi.spyOn(own.database, "turn");
    const query =
      'mutation { repriceLogs(input: { from: "2020-01-01T00:00:00Z", to: "2030-01-01T00:00:00Z" }) { examined } }';
    const repricing = fetch(`${own.url}/graphql`, {
      method: "POST",
      headers: { authorization: `Bearer ${own.token}`, "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    await vi.waitUntil(() => turn.mock.calls.length > 0, { interval: 0, timeout: 30_000 });
    await own.app.close();
    const { errors } = (await (await repricing).json()) as { errors: { extensions: { code: string } }[] };
    expect(errors[0]!.extensions.code).toBe("UNAVAILABLE");
    const database = await openDatabase(own.databaseUrl, entities);
    const entries = await database.read
      .selectFrom("AuditEntry")
      .select("after")
      .where("action", "=", "repriceLogs")
      .execute();
    await database.close();
    const [{ after }] = entries as [{ after: { examined: number } }];
    expect(after.examined).toBeLessThan(spans.length);
  });

  test("stores the costs of long logs in several transactions, and of no more than 32 MB in that of a request with a key", async () => {
    const name = newName();
    for (let n = 0; n < 4; n++) await costOf({ model: name }, { output: "x".repeat(9_000_000) });
    await setPrice({ model: name });
    const query = 'mutation { repriceLogs(input: { from: "0001-01-01", to: "9999-12-31" }) { changed } }';
    const { body } = await server.post("/graphql", { query }, { headers: { "idempotency-key": name } });
    expect(body.errors[0]).toMatchObject({ extensions: { code: "BAD_INPUT" } });
    const stop = await captureStatements(server);
    const { changed } = await reprice();
    const commits = stop().filter(({ sql }) => /^commit/i.test(sql));
    expect(changed).toBeGreaterThan(1);
    expect(commits.length).toBeGreaterThan(2); // of two long ones at least, and of the audit entry
  });

  test("what a run changed before it broke off stays changed and stands in the audit log", async () => {
    const { id, token } = await addWorkspace(server, newName());
    const ids = await addLogs(id, Array<NewLog>(300).fill({}));
    await setPrice({ model: "house" }, token);
    const drop = await addTrigger(`before update of cost on logs`, ids.at(-1)!, {
      sqlite: "select raise(abort, 'broken')",
      postgresql: "raise 'broken'",
    });
    try {
      expect(await reprice({}, token)).toMatchObject({ error: { code: "INTERNAL" } });
    } finally {
      await drop();
    }
    const changed = (await stored(id)).filter(({ cost }) => cost === 1).length;
    expect(changed).toBeGreaterThan(0);
    expect(changed).toBeLessThan(300);
    const figures = { examined: changed, changed, priced: changed, costAfter: changed };
    expect(await audited("repriceLogs", token)).toMatchObject([{ after: figures }]);
    expect(await reprice({}, token)).toMatchObject({ examined: 300, changed: 300 - changed, costAfter: 300 });
  });

  test("a log that changes or is removed after it was read stays so and is not counted", async () => {
    const { id, token } = await addWorkspace(server, newName());
    const changes = [
      "cost = 7, cost_source = 'REPORTED'", // sent again with a cost
      "cost_source = 'NONE'", // a call below it counts now
      "input_tokens = 5, cost = 5, cost_source = 'COMPUTED'",
      ...["output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"].map(
        (part) => `${part} = 9`,
      ),
      "model = 'other'",
      "provider = 'other'",
    ];
    const [first, removed, ...changed] = await addLogs(id, Array<NewLog>(2 + changes.length).fill({}));
    await setPrice({ model: "house" }, token);
    const meanwhile = [
      `delete from logs where id = '${removed}'`,
      ...changes.map((change, n) => `update logs set ${change} where id = '${changed[n]}'`),
    ].join(";");
    const drop = await addTrigger("after update of cost on logs", first!, {
      sqlite: meanwhile,
      postgresql: meanwhile,
    });
    try {
      expect(await reprice({}, token)).toMatchObject({ examined: 1, changed: 1, priced: 1, costAfter: 1 });
    } finally {
      await drop();
    }
    expect((await stored(id)).map(({ cost, costSource }) => [cost, costSource])).toEqual([
      ...[
        [1, "COMPUTED"],
        [7, "REPORTED"],
        [null, "NONE"],
        [5, "COMPUTED"],
      ],
      ...Array.from({ length: 6 }, () => [null, "UNPRICED"]),
    ]);
  });

  test.each([
    ["it ends before it begins", { from: "2026-03-02", to: "2026-03-01" }, "to must not be before from"],
    ["it begins at no time", { from: "2026-02-30" }, "from must be an existing time"],
    ["it begins at an empty time", { from: "" }, "from is required"],
    ["it has no end", { to: null }, "to is required"],
  ])("a time that is none is refused: %s", async (_, times, message) => {
    const { error } = await reprice(times);
    expect(error).toMatchObject({ code: "BAD_INPUT", message: expect.stringContaining(message) });
  });
});

test.each([["read"], ["write"], ["publish"], ["read", "write", "publish"]] as const)(
  "a token with %s changes no price and reprices nothing, which needs admin",
  async (...scopes) => {
    const { token } = await addToken(server, { scopes: [...scopes] });
    const { id, model: name } = await setPrice({ model: newName() });
    const attempts = [
      server.run(SET, { model: name, inputPrice: 9, outputPrice: 9 }, token),
      deletePrice(id, token),
      reprice({}, token),
      reprice({ dryRun: true }, token),
    ];
    for (const { error } of await Promise.all(attempts)) expect(error.code).toBe("FORBIDDEN");
    expect(await server.run(LIST, { model: name })).toMatchObject([{ id, inputPrice: 1 }]);
  },
);

test("own prices of many models are looked for one after another, with others served in between", async () => {
  const { database } = server;
  const workspaceId = await getWorkspaceId(database, "default");
  const named = Array.from({ length: 5 }, () => newName());
  for (const [at, name] of named.entries()) await setPrice({ model: name, inputPrice: at });
  const turn = vi.spyOn(database, "turn");
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 20)); // each takes longer than a turn may
  const find = ownPriceFinder(commandLineContext(database, workspaceId), workspaceId);
  const found = await Promise.all(named.map((name) => find({ provider: null, model: name }, new Date())));
  clock.mockRestore();
  expect(found.map((price) => price?.inputPrice)).toEqual([0, 1, 2, 3, 4]);
  expect(turn).toHaveBeenCalledTimes(4);
  turn.mockRestore();
});
