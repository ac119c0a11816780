import { checkJson, type JsonCounts } from "../validation/jsonLimits.ts";
import type { Warning } from "../warnings.ts";

/**
 * Reads what published clients send in forms of their own, where only one meaning is possible: objects and times as text, lists
 * and objects in a wrapper of the editor, and the cost 0 for an unknown one. A warning names each form but the last.
 */
export interface ClientForms {
  body: unknown;
  warnings: Warning[];
}

type Members = Record<string, unknown>;

/** A body while its forms are read. */
interface Reading {
  warnings: Warning[];
  /** Of all objects that are written as text. */
  counts: JsonCounts;
}

const newReading = (): Reading => ({ warnings: [], counts: { values: 0, members: 0 } });

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The body of a row or a single log, whose client may send `metadata` and times as text. */
export function readFlatForms(body: unknown): ClientForms {
  const reading = newReading();
  return { body: isObject(body) ? withTexts(body, "", reading) : body, warnings: reading.warnings };
}

/** The body of a trace. `sdk` is the client's own name for itself. */
export function readTraceForms(body: unknown, sdk: unknown): ClientForms {
  const reading = newReading();
  const { warnings } = reading;
  if (!isObject(body)) return { body, warnings };
  const texts = withSampleRate(withTexts(body, "", reading));
  const trace = unwrap(texts, "evaluators", "evaluatorValues", "", warnings);
  if (!Array.isArray(trace.logs)) return { body: trace, warnings };
  const logs = trace.logs.map((log, at) =>
    isObject(log) ? readLog(log, `logs.${at}.`, { ...reading, sdk }) : log,
  );
  return { body: { ...trace, logs }, warnings };
}

/** Python's SDKs write it in snake case. */
function withSampleRate(trace: Members): Members {
  const { evaluationConfig: config } = trace;
  if (!isObject(config) || !Object.hasOwn(config, "sample_rate")) return trace;
  const { sample_rate: sampleRate, ...others } = config;
  return { ...trace, evaluationConfig: { sampleRate, ...others } };
}

function readLog(log: Members, path: string, { sdk, ...reading }: Reading & { sdk: unknown }): Members {
  const { warnings } = reading;
  let read = withTexts(log, path, reading);
  read = unwrap(read, "prompt", "promptValues", path, warnings);
  read = unwrap(read, "variables", "variableValues", path, warnings);
  read = unwrap(read, "evaluators", "evaluatorValues", path, warnings);
  const isUnknownCost = sdk === "nodejs" && read.cost === 0; // the SDK sends 0 when nothing was set
  return isUnknownCost ? { ...read, cost: null } : read;
}

const MAX_DIGITS = 16;

function withTexts(object: Members, path: string, { warnings, counts }: Reading): Members {
  const { metadata, startTime, endTime } = object;
  const read = { ...object };
  if (metadata === "") read.metadata = null;
  else if (typeof metadata === "string") {
    const parsed = parseObject(metadata, counts, `${path}metadata`);
    if (parsed) {
      read.metadata = parsed;
      warnings.push(converted(`${path}metadata`, "is an object written as text; it was read as the object"));
    }
  }
  for (const [name, time] of Object.entries({ startTime, endTime }))
    if (typeof time === "string" && time.length <= MAX_DIGITS && /^\d+$/.test(time)) {
      read[name] = Number(time);
      warnings.push(
        converted(`${path}${name}`, "is a number written as text; it was read as epoch milliseconds"),
      );
    }
  return read;
}

/** Throws BAD_INPUT when the object, or it with those of the body before, would be refused in a body of its own. */
function parseObject(text: string, counts: JsonCounts, path: string): Members | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  checkJson(text, counts, path);
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // the validation of the body refuses it with its path
  }
}

function unwrap(object: Members, name: string, wrapper: string, path: string, warnings: Warning[]): Members {
  const value = object[name];
  if (!isObject(value) || !Object.hasOwn(value, wrapper) || Object.keys(value).length !== 1) return object;
  warnings.push(converted(`${path}${name}`, `is wrapped in ${wrapper}; what is inside was read`));
  return { ...object, [name]: value[wrapper] };
}

function converted(path: string, what: string): Warning {
  return { code: "FORM_CONVERTED", message: `${path} ${what}.`, path };
}
