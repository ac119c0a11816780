import { describe, expect, test } from "vitest";
import { MAX_VALUES } from "../../src/logs/otlp/bounds.ts";
import { mapSpan } from "../../src/logs/otlp/mapping.ts";
import type { OtlpAttributes } from "../../src/logs/otlp/span.ts";
import { toOtlpSpan } from "../support/otlpFixtures.ts";

const logOf = (attributes: OtlpAttributes) => mapSpan(toOtlpSpan({ attributes })).log;

const basaltJs = { "basalt.sdk.name": "@basalt-ai/sdk" };
const basaltPython = { "basalt.sdk.type": "python" };

describe("roots", () => {
  test.each<[string, { parentSpanId: string | null; hasRemoteParent: boolean }, boolean]>([
    ["no parent", { parentSpanId: null, hasRemoteParent: false }, true],
    ["a parent in this service", { parentSpanId: "00f067aa0ba902b7", hasRemoteParent: false }, false],
    ["a parent in another service", { parentSpanId: "00f067aa0ba902b7", hasRemoteParent: true }, true],
  ])("a span with %s: %j is a root: %j", (_, parent, isRoot) => {
    const mapped = mapSpan(toOtlpSpan({ ...parent, name: "quiz" }));
    expect(mapped).toMatchObject({ isRoot, trace: { name: isRoot ? "quiz" : null } });
    expect(mapped.log.parentExternalId).toBe(parent.parentSpanId);
  });
});

describe("types", () => {
  test.each<[OtlpAttributes, string]>([
    [{}, "span"],
    [{ "basalt.span.kind": "function", "gen_ai.operation.name": "chat" }, "function"],
    [{ "langfuse.observation.type": "guardrail", "openinference.span.kind": "LLM" }, "guardrail"],
    [{ "openinference.span.kind": "RERANKER" }, "retrieval"],
    [{ "langsmith.span.kind": "prompt", "gen_ai.operation.name": "chat" }, "span"],
    [{ "gen_ai.operation.name": "invoke_workflow" }, "span"],
    [{ "gen_ai.operation.name": "a word of tomorrow", "gen_ai.request.model": "gpt-5" }, "generation"],
    [{ "basalt.span.kind": "constructor" }, "span"],
    [{ "basalt.span.kind": "__proto__" }, "span"],
    [{ "basalt.span.kind": 7, "gen_ai.tool.name": "weather" }, "tool"],
    [{ "ai.operationId": "ai.streamObject.doStream" }, "generation"],
    [{ "ai.operationId": "ai.streamObject" }, "span"],
    [{ "llm.request.type": "embedding", "gen_ai.request.model": "text-embedding-3-small" }, "embedding"],
    [{ "mlflow.spanType": '"CHAT_MODEL"' }, "generation"],
    [{ "mlflow.spanType": '"UNKNOWN"' }, "span"],
    [{ "mlflow.spanType": `${'"'.repeat(90)}LLM` }, "generation"],
    [{ "mlflow.spanType": `${'"'.repeat(100)}LLM` }, "span"], // only the beginning is looked at
    [{ "operation.name": "ai.embedMany.doEmbed search" }, "embedding"],
    [{ "operation.name": "GET /users" }, "span"],
  ])("%j is of type %s", (attributes, type) => {
    expect(logOf(attributes).type).toBe(type);
  });
});

describe("tokens", () => {
  const counts = (input: number, output: number, read: number, write: number, reasoning: number) => ({
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": read,
    "gen_ai.usage.cache_creation.input_tokens": write,
    "gen_ai.usage.reasoning.output_tokens": reasoning,
  });

  test.each<[string, OtlpAttributes, number[], number]>([
    [
      "are taken out of the input and output that include them",
      counts(100, 50, 60, 30, 20),
      [10, 60, 30, 30, 20],
      0,
    ],
    ["may be all of the input and output", counts(90, 20, 60, 30, 20), [0, 60, 30, 0, 20], 0],
    ["in a cache beyond the input are not part of it", counts(80, 50, 60, 30, 20), [80, 60, 30, 30, 20], 1],
    [
      "of reasoning beyond the output are not part of it",
      counts(100, 10, 60, 30, 20),
      [10, 60, 30, 10, 20],
      1,
    ],
    ["are none where all are 0", counts(0, 0, 0, 0, 0), [0, 0, 0, 0, 0], 0],
  ])("%s", (_, attributes, parts, warningCount) => {
    const { log, warnings } = mapSpan(toOtlpSpan({ attributes }));
    const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = log;
    expect([inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens]).toEqual(parts);
    expect(warnings).toHaveLength(warningCount);
  });

  test("that exceed the whole are named in the warning", () => {
    const { warnings } = mapSpan(toOtlpSpan({ attributes: counts(10, 5, 60, 0, 20) }));
    expect(warnings).toEqual([
      "The span reports 10 input tokens, but 60 read from a cache and 0 written to a cache. " +
        "Gabbro assumes that the input tokens do not include those.",
      "The span reports 5 output tokens, but 20 spent on reasoning. " +
        "Gabbro assumes that the output tokens do not include those.",
    ]);
  });

  test("are unknown, not 0, where the input is not reported", () => {
    expect(logOf({ "gen_ai.usage.cache_read.input_tokens": 5 })).toMatchObject({
      inputTokens: null,
      cacheReadTokens: 5,
    });
  });

  test("of Langfuse exclude each other without a warning", () => {
    const usage = JSON.stringify({
      input: 10,
      output: 5,
      input_cached_tokens: 60,
      output_reasoning_tokens: 20,
    });
    const { log, warnings } = mapSpan(
      toOtlpSpan({ attributes: { "langfuse.observation.usage_details": usage } }),
    );
    expect(log).toMatchObject({ inputTokens: 10, cacheReadTokens: 60, outputTokens: 5, reasoningTokens: 20 });
    expect(warnings).toEqual([]);
  });

  test.each([-1, 1.5, Number.NaN, "many", true, "", null, [1], { count: 1 }, 1e300])(
    "are not read from %j: the next source is",
    (value) => {
      const attributes = { "gen_ai.usage.input_tokens": value, "gen_ai.usage.prompt_tokens": "12" };
      expect(logOf(attributes).inputTokens).toBe(12);
    },
  );
});

describe("cost", () => {
  test.each<[string, OtlpAttributes, number | null]>([
    ["is what is reported", { "gen_ai.usage.cost": 0.5 }, 0.5],
    [
      "is unknown where 0 stands beside tokens",
      { "gen_ai.usage.cost": 0, "gen_ai.usage.input_tokens": 3 },
      null,
    ],
    ["is 0 where no tokens are known", { "gen_ai.usage.cost": 0 }, 0],
    ["is 0 where no tokens were used", { "gen_ai.usage.cost": 0, "gen_ai.usage.input_tokens": 0 }, 0],
    ["is never negative", { "gen_ai.usage.cost": -1, "llm.cost.total": 0.25 }, 0.25],
  ])("%s", (_, attributes, cost) => {
    expect(logOf(attributes).cost).toBe(cost);
  });
});

describe("JSON texts", () => {
  test.each<[string, unknown]>([
    ['{"a":[1]}', { a: [1] }],
    [' [1,{"b":null}]', [1, { b: null }]],
    ['{"a":', '{"a":'],
    ["42", "42"],
    ["true", "true"],
    ['"quoted"', '"quoted"'],
    ["[x] done", "[x] done"],
  ])("%j as input of any sender is kept as %j", (text, input) => {
    const mapped = mapSpan(toOtlpSpan({ attributes: { "input.value": text } }));
    expect(mapped.log.input).toEqual(input);
    expect(mapped.warnings).toEqual([]);
  });

  test.each<[string, unknown, unknown]>([
    ['"question"', "question", '"question"'],
    ['"42"', "42", '"42"'],
    ["42", 42, "42"],
    ["null", null, "null"],
    ['{"a":1}', { a: 1 }, { a: 1 }],
  ])("%j of Basalt's SDK is %j from JavaScript and %j from Python", (text, fromJs, fromPython) => {
    const attributes = { "basalt.span.input": text };
    expect(mapSpan(toOtlpSpan({ attributes, resource: basaltJs })).log.input).toEqual(fromJs);
    expect(mapSpan(toOtlpSpan({ attributes, resource: basaltPython })).log.input).toEqual(fromPython);
  });

  test("that Basalt's SDK for JavaScript cut at 4,096 characters stay texts, with a warning", () => {
    const cut = JSON.stringify("x".repeat(5000)).slice(0, 4096);
    const { log, warnings } = mapSpan(
      toOtlpSpan({ attributes: { "basalt.span.output": cut }, resource: basaltJs }),
    );
    expect(log.output).toBe(cut);
    expect(warnings).toEqual([
      'The attribute "basalt.span.output" is not complete JSON. Gabbro keeps it as a text.',
    ]);
  });

  test("that nest too deep to be stored stay texts", () => {
    const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(logOf({ "input.value": deep(80) }).input).toEqual(JSON.parse(deep(80)));
    expect(logOf({ "input.value": deep(81) }).input).toBe(deep(81));
    expect(logOf({ "input.value": deep(1_000_000) }).input).toBe(deep(1_000_000));
    const brackets = JSON.stringify({ text: `\\"${"[".repeat(500)}` });
    expect(logOf({ "input.value": brackets }).input).toEqual(JSON.parse(brackets));
  });
});

describe("messages of the conventions", () => {
  const parts = [{ type: "text", content: "Hi" }];
  const messages = [{ role: "user", parts }];

  test.each<[string, OtlpAttributes]>([
    ["as nested values", { "gen_ai.input.messages": messages }],
    ["as a JSON text", { "gen_ai.input.messages": JSON.stringify(messages) }],
  ])("are the same %s", (_, attributes) => {
    expect(logOf(attributes).input).toEqual(messages);
  });

  test.each<[unknown, unknown]>([
    [parts, parts],
    [JSON.stringify(parts), parts],
    ["Hi", parts],
  ])("begin with the system instructions %j", (instructions, expected) => {
    const system = { role: "system", parts: expected };
    const attributes = { "gen_ai.system_instructions": instructions };
    expect(logOf(attributes).input).toEqual([system]);
    expect(logOf({ ...attributes, "gen_ai.input.messages": messages }).input).toEqual([system, ...messages]);
    expect(logOf({ ...attributes, "gen_ai.input.messages": "Hi" }).input).toEqual([system, "Hi"]);
  });
});

test("parts of an output stand alone, or together under their names", () => {
  const text = { "ai.response.text": "Let me look." };
  const toolCalls = { "ai.response.toolCalls": '[{"toolName":"weather"}]' };
  expect(logOf(text).output).toBe("Let me look.");
  expect(logOf({ ...toolCalls, "ai.response.text": "" }).output).toEqual([{ toolName: "weather" }]);
  expect(logOf({ ...text, ...toolCalls }).output).toEqual({
    text: "Let me look.",
    toolCalls: [{ toolName: "weather" }],
  });
});

describe("flattened lists", () => {
  test("are ordered by their numbers, whatever the order of the attributes", () => {
    const attributes = {
      "gen_ai.prompt.10.content": "third",
      "gen_ai.prompt.2.content": "second",
      "gen_ai.prompt.0.content": "first",
      "gen_ai.prompt.name": "capital",
      "gen_ai.prompt_0.content": "of another list",
    };
    expect(logOf(attributes).input).toEqual([
      { content: "first" },
      { content: "second" },
      { content: "third" },
    ]);
  });

  test("take no memory for the numbers that they leave out", () => {
    const attributes = { "llm.input_messages.1000000000.message.role": "user" };
    expect(logOf(attributes).input).toEqual([{ role: "user" }]);
  });

  test("keep the first of two attributes that contradict each other", () => {
    const attributes = {
      "gen_ai.prompt.0": "whole",
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.1.a.b": 1,
      "gen_ai.prompt.1.a": 2,
    };
    expect(logOf(attributes).input).toEqual(["whole", { a: { b: 1 } }]);
  });

  test("keep what lies very deep under one key", () => {
    const rest = Array(100_000).fill("x").join(".");
    const input = logOf({ [`gen_ai.prompt.0.${rest}`]: 1 }).input;
    expect(JSON.stringify(input)).toContain(rest.slice(30));
  });

  test("lose the objects that OpenInference puts around entries", () => {
    const attributes = {
      "llm.output_messages.0.message.contents.0.message_content.type": "text",
      "llm.output_messages.0.message.contents.0.message_content.text": "Paris.",
      "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city":"Paris"}',
    };
    expect(logOf(attributes).output).toEqual([
      {
        contents: [{ type: "text", text: "Paris." }],
        tool_calls: [{ function: { arguments: { city: "Paris" } } }],
      },
    ]);
  });
});

test("a key __proto__ changes no prototype and is kept", () => {
  const attributes = Object.fromEntries([
    ["basalt.metadata", '{"__proto__":{"polluted":1},"a":1}'],
    ["basalt.meta.__proto__", "x"],
    ["llm.input_messages.0.message.__proto__.polluted", 1],
    ["llm.input_messages.__proto__.polluted", 1],
    ["llm.prompt_template.variables", '{"__proto__":"y"}'],
    ["__proto__", { polluted: 1 }],
  ]);
  const { log } = mapSpan(toOtlpSpan({ attributes }));
  expect(JSON.stringify([log.input, log.metadata, log.variables])).toBe(
    '[[{"__proto__":{"polluted":1}}],{"__proto__":{"polluted":1},"a":1},[{"label":"__proto__","value":"y"}]]',
  );
  expect(Object.getPrototypeOf(log.metadata)).toBe(Object.prototype);
  expect({}).not.toHaveProperty("polluted");
});

describe("calls of Basalt's SDKs to Gabbro", () => {
  test.each<[string, OtlpAttributes]>([
    ["in Python's metadata", { "basalt.metadata": '{"basalt.internal.api": true}' }],
    ["as an attribute", { "basalt.internal.api": true }],
    ["as a text", { "basalt.internal.api": "true" }],
    ["by the SDK's name", { "basalt.sdk": "@basalt-ai/sdk" }],
    ["by an attribute of the SDK", { "basalt.sdk.type": "nodejs" }],
    ["in JavaScript's metadata", { "basalt.metadata": '{"basalt.sdk.type":"nodejs"}' }],
    ["by an operation", { "basalt.metadata": '{"basalt.operation":"upload"}' }],
  ])("that are marked %s are internal and lose their content", (_, marks) => {
    const secret = "a row of a dataset";
    const attributes = {
      ...marks,
      "basalt.span.input": secret,
      "basalt.span.output": JSON.stringify({ text: secret }),
      "basalt.span.variables": JSON.stringify({ secret }),
      "basalt.meta.secret": secret,
      "langfuse.trace.input": secret,
      "langfuse.trace.output": secret,
      "langfuse.trace.metadata": JSON.stringify({ secret }),
    };
    const events = [{ name: "exception", time: null, attributes: { "exception.message": secret } }];
    const mapped = mapSpan(toOtlpSpan({ attributes, events, name: "basalt.dataset.get" }));
    expect(mapped.log).toMatchObject({ isInternal: true, name: "basalt.dataset.get", attributes: null });
    expect(JSON.stringify(mapped)).not.toContain(secret);
  });

  test.each<[string, OtlpAttributes]>([
    ["unmarked", {}],
    ["marked as not internal", { "basalt.internal.api": false }],
    ["with metadata of the user", { "basalt.metadata": '{"session":"s1"}' }],
    ["with another key", { "basalt.sdkless": 1 }],
  ])("are not what is %s", (_, attributes) => {
    expect(logOf({ ...attributes, "basalt.span.input": "kept" })).toMatchObject({
      isInternal: false,
      input: "kept",
    });
  });
});

describe("prompts and variables", () => {
  test("the version and the tag come from the sender that names the slug", () => {
    const attributes = {
      "basalt.prompt.slug": "capital",
      "langfuse.observation.prompt.name": "other",
      "langfuse.observation.prompt.version": 7,
      "gabbro.prompt.tag": "production",
    };
    expect(logOf(attributes)).toMatchObject({ promptSlug: "capital", version: null, tag: null });
  });

  test.each<[unknown, unknown]>([
    [
      { a: "x", b: 1, c: null, d: { e: [2] } },
      [
        ["a", "x"],
        ["b", "1"],
        ["c", null],
        ["d", '{"e":[2]}'],
      ],
    ],
    [
      '[{"label":"a","value":"x"},{"name":"b","value":false},{"value":1},7]',
      [
        ["a", "x"],
        ["b", "false"],
      ],
    ],
    ["{}", null],
    ["[]", null],
    ["text", null],
  ])("variables %j become %j", (held, variables) => {
    const mapped = logOf({ "basalt.span.variables": held }).variables;
    expect(mapped?.map(({ label, value }) => [label, value]) ?? null).toEqual(variables);
  });
});

describe("what is kept as it came", () => {
  test("is everything, without the parts that are empty", () => {
    const links = [
      {
        traceId: "0af7651916cd43dd8448eb211c80319c",
        spanId: "00f067aa0ba902b7",
        traceState: null,
        attributes: {},
      },
    ];
    const given = {
      attributes: { own: [1] },
      resource: { "service.name": "quiz" },
      links,
      traceState: "a=b",
    };
    const scope = { name: "gen_ai", version: null, attributes: {} };
    expect(mapSpan(toOtlpSpan({ ...given, scope })).log.attributes).toEqual({
      span: { own: [1] },
      resource: { "service.name": "quiz" },
      scope: { name: "gen_ai" },
      links,
      traceState: "a=b",
    });
    expect(logOf({}).attributes).toBeNull();
  });

  test("includes events, in their order", () => {
    const events = ["first", "second"].map((name) => ({ name, time: null, attributes: { of: name } }));
    expect(mapSpan(toOtlpSpan({ events })).log.events).toEqual(events);
    expect(mapSpan(toOtlpSpan({})).log.events).toBeNull();
  });
});

test.each([
  ["langfuse.observation.completion_start_time", '"2026-11-24T20:00:00.250Z"', 250],
  ["langfuse.observation.completion_start_time", "2026-11-24T19:59:59.000Z", null],
  ["langfuse.observation.completion_start_time", "soon", null],
  ["gen_ai.response.time_to_first_chunk", 0.25, 250],
  ["gen_ai.response.time_to_first_chunk", 1e306, null],
  ["ai.response.msToFirstChunk", 250, 250],
  ["ai.response.msToFirstChunk", -1, null],
])("the time to the first token of %s %j is %j ms", (key, value, milliseconds) => {
  expect(logOf({ [key]: value }).timeToFirstTokenMs).toBe(milliseconds);
});

test.each([
  [0.5, 0.5],
  [1, 1],
  [1.5, null],
  [-0.5, null],
])("a sample rate of %j becomes %j", (value, sampleRate) => {
  const attributes = { "basalt.span.evaluation.sample_rate": value };
  expect(mapSpan(toOtlpSpan({ attributes })).trace.sampleRate).toBe(sampleRate);
});

test("the time to map a span grows with its size, not with the square of it", () => {
  const made = (size: number) =>
    toOtlpSpan({
      attributes: Object.fromEntries([
        ["input.value", "[".repeat(size)],
        ["output.value", `{"a":"${"\\\\".repeat(size)}"`],
        ["basalt.span.output", `${"{".repeat(size)}`],
        ...Array.from(
          { length: size / 10 },
          (_, n) => [`gen_ai.prompt.${size - n}.a.${n}.b`, `[${n}`] as const,
        ),
        [`gen_ai.completion.0${".x".repeat(size)}`, 1],
      ]),
      events: Array.from({ length: size / 10 }, () => ({
        name: "gen_ai.choice",
        time: null,
        attributes: { message: "{" },
      })),
    });
  const timeOf = (size: number) => {
    const span = made(size);
    const times = Array.from({ length: 3 }, () => {
      const start = process.cpuUsage();
      mapSpan(span);
      const { user, system } = process.cpuUsage(start);
      return user + system;
    });
    return Math.min(...times);
  };
  timeOf(20_000);
  const growth = timeOf(640_000) / timeOf(20_000);
  expect(growth).toBeLessThan(32 * 8);
});

describe("JSON texts of a span", () => {
  const list = (values: number) => `[${"1,".repeat(values - 2)}1]`;

  test("are parsed up to 50,000 values together, one that several fields read counts for each, and others stay texts", () => {
    const half = list(MAX_VALUES / 2);
    const both = mapSpan(toOtlpSpan({ attributes: { "input.value": half, "output.value": half } }));
    expect([both.log.input, both.log.output]).toEqual([JSON.parse(half), JSON.parse(half)]);
    expect(both.warnings).toEqual([]);

    const fits = list(MAX_VALUES);
    for (const other of [list(MAX_VALUES - 1), fits]) {
      const { log, warnings } = mapSpan(
        toOtlpSpan({ attributes: { "input.value": fits, "output.value": other } }),
      );
      expect([log.input, log.output]).toEqual([JSON.parse(fits), other]);
      expect(warnings).toEqual([expect.stringContaining(`more than ${MAX_VALUES} values`)]);
    }
  });

  test.each([
    ["0.14098629", 1 + 4],
    ["9.8495e-301", 1 + 4],
    ["12.5", 1],
  ])("stay texts where %s counts beyond 50,000 values", (number, weight) => {
    const numbers = (count: number) => `[${Array(count).fill(number).join()}]`;
    const most = Math.floor((MAX_VALUES - 1) / weight);
    for (const [count, isParsed] of [
      [most - 1, true],
      [most + 2, false],
    ] as const) {
      const { log } = mapSpan(toOtlpSpan({ attributes: { "input.value": numbers(count) } }));
      expect(Array.isArray(log.input)).toBe(isParsed);
    }
  });

  test.each([
    ["two values", "a", 2],
    ["three, if their names are numbers", "", 3],
  ])("count members of objects as %s", (_, mark, each) => {
    const object = (members: number) =>
      JSON.stringify(
        Object.fromEntries(Array.from({ length: members }, (_, n) => [`${mark}${10_000 + n}`, 1])),
      );
    const most = Math.floor((MAX_VALUES - 2) / each);
    const text = object(most + 2);
    expect(logOf({ "input.value": object(most) }).input).toBeTypeOf("object");
    expect(logOf({ "input.value": text }).input).toBe(text);
  });

  test("count lists and objects among their values", () => {
    for (const item of ["[1]", '{"a":1}']) {
      const text = `[${`${item},`.repeat(0.6 * MAX_VALUES)}1]`;
      expect(logOf({ "input.value": text }).input).toBe(text);
    }
  });

  test("that are not JSON count as 50 values each", () => {
    const wrong = Array.from({ length: MAX_VALUES / 50 }, (_, n) => [`gen_ai.${n}`, `[x${n}]`] as const);
    const events = wrong.map(([, content]) => ({
      ...{ name: "gen_ai.user.message", time: null },
      attributes: { content },
    }));
    const { log, warnings } = mapSpan(toOtlpSpan({ attributes: { "output.value": "[1]" }, events }));
    expect(log.output).toBe("[1]");
    expect(warnings).toEqual([expect.stringContaining(`more than ${MAX_VALUES} values`)]);
  });

  test.each(['["cut', '["a"', '"a"]]', '["\\"]'])("that do not end are texts: %s", (text) => {
    expect(logOf({ "input.value": text }).input).toBe(text);
  });

  test.each(['["a\\\\"]', '["\\\\\\""]', '[{"a]":"}"}]'])(
    "are parsed whatever their texts hold: %s",
    (text) => {
      expect(logOf({ "input.value": text }).input).toEqual(JSON.parse(text));
    },
  );
});

describe("numbers in JSON texts that JavaScript would change", () => {
  const digits = "1234567890123456789";

  test.each([
    [`{"order_id": ${digits} }`, { order_id: digits }],
    [`[-${digits},${digits}.0,9007199254740992]`, [`-${digits}`, `${digits}.0`, "9007199254740992"]],
    ["[1e999,-1E+400]", ["1e999", "-1E+400"]],
    [
      `[{"role":"assistant","parts":[{"type":"tool_call","arguments":{"\\"${digits}":${digits}}}]}]`,
      [{ role: "assistant", parts: [{ type: "tool_call", arguments: { [`"${digits}`]: digits } }] }],
    ],
  ])("are texts as they came: %s", (text, input) => {
    expect(logOf({ "gen_ai.tool.call.arguments": text }).input).toEqual(input);
    expect(logOf({ "basalt.metadata": `{"a":${text}}` }).metadata).toEqual({ a: input });
  });

  test.each([
    "[9007199254740991,-9007199254740991,1234567890123456.0]",
    `[0.${digits},-1.5,1e16,1e-400,2E+5]`,
    `{"${digits}":["${digits}","1e999","\\\\",1]}`,
  ])("are no others: %s", (text) => {
    expect(logOf({ "input.value": text }).input).toEqual(JSON.parse(text));
  });

  test.each([
    `{${digits}:1}`,
    `{${digits} :1}`,
    `[0${digits}]`,
    `[1-${digits}]`,
    "[1.e999]",
    `[${digits}x]`,
    `[${digits} ${"1 ".repeat(MAX_VALUES)}]`,
  ])("make no wrong JSON valid: %#", (text) => {
    expect(logOf({ "input.value": text }).input).toBe(text);
  });
});

test("metadata keeps the members that fit into 10,000 at all depths, with a warning, and the attributes keep all", () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]));
  const some = { list: [members(5_000)], region: "eu" };
  const most = { ...some, object: members(4_997) };
  const map = (attributes: OtlpAttributes) => mapSpan(toOtlpSpan({ attributes, parentSpanId: null }));
  for (const metadata of [most, JSON.stringify(most)])
    expect(map({ metadata })).toMatchObject({ log: { metadata: most }, warnings: [] });

  const tooMany = { ...some, object: members(4_998), last: true };
  for (const metadata of [tooMany, JSON.stringify(tooMany)]) {
    const { log, trace, warnings } = map({ metadata, "langfuse.trace.metadata": tooMany });
    const kept = { ...some, last: true };
    expect([log.metadata, trace.metadata]).toEqual([kept, kept]);
    expect(log.attributes).toEqual({ span: { metadata, "langfuse.trace.metadata": tooMany } });
    expect(warnings).toEqual([expect.stringMatching(/^The metadata has more than 10,000 members/)]);
  }
});

describe("keys that spell lists", () => {
  const keysOf = (parts: number, keys: number) =>
    Object.fromEntries(
      Array.from({ length: keys }, (_, n) => [`llm.input_messages.${n}${".a".repeat(parts - 1)}`, "x"]),
    );

  test("make a list of up to 25,000 parts, and stay attributes beyond", () => {
    const fits = mapSpan(toOtlpSpan({ attributes: keysOf(5, 5_000), parentSpanId: null }));
    expect(fits.log.input).toHaveLength(5_000);
    expect(fits.warnings).toEqual([]);

    const attributes = keysOf(5, 5_001);
    const { log, warnings } = mapSpan(toOtlpSpan({ attributes }));
    expect(log).toMatchObject({ input: null, attributes: { span: attributes } });
    expect(warnings).toEqual([expect.stringContaining(`more than ${MAX_VALUES} values`)]);
  });
});
