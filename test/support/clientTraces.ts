const times = { startTime: "2026-03-01T10:00:00.000Z", endTime: "2026-03-01T10:00:02.000Z" };
const python = { startTime: "2026-03-01T10:00:00.123456", endTime: null };
const parties = { organization: { id: "o-1", name: "Org" }, user: { id: "u-1", name: "Amina" } };
const absent = { idealOutput: null, metadata: null, organization: null, user: null, experiment: null };
/** The fields of a log as n8n's editor fills them in. */
const leftAlone = {
  ...{ name: "", parentId: "", startTime: "", endTime: "", metadata: "", input: "", output: "" },
  ...{ idealOutput: "", inputTokens: 0, outputTokens: 0, cost: 0, prompt: {}, variables: {}, evaluators: {} },
};

/**
 * What each generation of the published clients sends to `POST /monitor/trace`: the headers that say which one it is, and the
 * body, with the members that each always sends.
 */
export const clientTraces: Record<string, { headers: Record<string, string>; body: object }> = {
  "JavaScript 0.1.0": {
    headers: { "x-basalt-sdk-type": "nodejs", "x-basalt-sdk-version": "0.1.0" },
    body: {
      ...{
        chainSlug: "trips",
        input: "in",
        output: { answer: "out" },
        metadata: { a: 1 },
        ...parties,
        ...times,
      },
      logs: [
        {
          id: "log-k3x9",
          type: "span",
          name: "outer",
          ...times,
          metadata: {},
          input: "in",
          output: "out",
          variables: [],
        },
        {
          ...{ id: "log-p0q1", type: "generation", name: "call", ...times, parentId: "log-k3x9" },
          ...{ input: "What?", output: "That.", prompt: { slug: "guide", tag: "production" } },
          variables: [{ label: "name", value: "Amina" }],
        },
      ],
    },
  },
  "JavaScript 0.1.4": {
    headers: { "x-basalt-sdk-type": "nodejs", "x-basalt-sdk-version": "0.1.4" },
    body: {
      ...{ chainSlug: "trips", input: "in", output: "out", ...times },
      logs: [
        {
          ...{ id: "log-a", type: "generation", name: "call", ...times, input: "What?", output: "That." },
          ...{ prompt: { slug: "guide" }, variables: [], inputTokens: 5, outputTokens: 7, cost: 0 },
        },
      ],
    },
  },
  "JavaScript 0.2.3": {
    headers: { "x-basalt-sdk-type": "nodejs", "x-basalt-sdk-version": "0.2.3" },
    body: {
      ...{ name: "trip", featureSlug: "trips", ...times, evaluators: [{ slug: "hallucination" }] },
      evaluationConfig: { sampleRate: 0.5 },
      logs: [
        {
          ...{ id: "log-a", type: "retrieval", name: "search", ...times, input: "q", output: ["a", "b"] },
          ...{ variables: [], cost: 0, evaluators: [{ slug: "relevance" }] },
        },
      ],
    },
  },
  "JavaScript 0.3.1": {
    headers: { "x-basalt-sdk-type": "nodejs", "x-basalt-sdk-version": "0.3.1" },
    body: { name: "trip", featureSlug: "trips", idealOutput: "best", ...times, logs: [] },
  },
  "Python 0.2.3": {
    headers: { "x-basalt-sdk-type": "python", "x-basalt-sdk-version": "0.2.3" },
    body: {
      ...{ ...absent, featureSlug: "trips", name: null, input: "in", output: "out", startTime: null },
      ...{ endTime: "2026-03-01T10:00:02.123456", evaluators: null, evaluationConfig: { sample_rate: 0.5 } },
      logs: [
        {
          ...{
            id: "log-1a2b3c4d",
            type: "generation",
            name: "call",
            ...python,
            parentId: null,
            parent: null,
          },
          ...{ input: "What?", output: "That.", metadata: null, options: { type: "single" } },
          ...{ prompt: { slug: "guide", version: null, tag: null }, variables: null, evaluators: null },
        },
      ],
    },
  },
  "Python 0.5.2": {
    headers: { "x-basalt-sdk-type": "python", "x-basalt-sdk-version": "0.5.2" },
    body: {
      ...{ ...absent, featureSlug: "trips", name: "trip", input: "in", output: "out", ...python },
      ...{ evaluators: [], evaluationConfig: null },
      logs: [
        {
          ...{ id: "log-1", type: "tool", name: "lookup", ...python, parentId: "gone", parent: null },
          ...{ input: { city: "Nairobi" }, output: 1, idealOutput: null, evaluators: null, metadata: null },
          ...{ inputTokens: null, outputTokens: null, cost: null },
        },
      ],
    },
  },
  "n8n 0.4.0": {
    headers: {},
    body: {
      ...{ featureSlug: "", name: "", startTime: "1763800000000", metadata: '{"a": 1}' },
      logs: [
        {
          ...{ id: "first", type: "generation", input: "What?", output: "That.", metadata: "" },
          prompt: { promptValues: { slug: "guide", version: "", tag: "production" } },
          variables: { variableValues: [{ label: "name", value: "Amina" }] },
          evaluators: { evaluatorValues: [{ slug: "tone" }] },
        },
      ],
    },
  },
  "n8n 0.4.0, most fields left alone": {
    headers: {},
    body: {
      featureSlug: "trips",
      logs: [
        { ...leftAlone, id: "outer", type: "span", name: "outer" },
        {
          ...{
            ...leftAlone,
            id: "call",
            type: "generation",
            parentId: "outer",
            input: "What?",
            output: "That.",
          },
          prompt: { promptValues: { slug: "guide", version: "", tag: "" } },
        },
      ],
    },
  },
};
