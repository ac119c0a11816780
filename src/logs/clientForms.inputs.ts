import { checkJson, type JsonCounts } from "../validation/jsonLimits.ts";
import type { Warning } from "../warnings.ts";
import { MAX_LOGS } from "./traces.inputs.ts";

/**
 * Reads what published clients send in forms of their own, where only one meaning is possible: objects and times as text, lists
 * and objects in a wrapper of the editor, and empty objects and zeros for what was not set. A warning names each form but the
 * last two. Changes the body in place: each copy of 98,000 members took 50 ms.
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
  if (isObject(body)) readTexts(body, "", reading);
  return { body, warnings: reading.warnings };
}

/** The body of a trace. `sdk` is the client's own name for itself. */
export function readTraceForms(body: unknown, sdk: unknown): ClientForms {
  const reading = newReading();
  const { warnings } = reading;
  if (!isObject(body)) return { body, warnings };
  readTexts(body, "", reading);
  readSampleRate(body);
  unwrap(body, "evaluators", wrappers.evaluators, "", warnings);
  const { logs } = body;
  // A longer list is refused, and 99,000 logs with metadata that is no JSON took 0.5 s.
  if (!Array.isArray(logs) || logs.length > MAX_LOGS) return { body, warnings };
  for (const [at, log] of logs.entries()) if (isObject(log)) readLog(log, `logs.${at}.`, { ...reading, sdk });
  return { body, warnings };
}

/** Python's SDKs write it in snake case. */
function readSampleRate({ evaluationConfig: config }: Members): void {
  if (!isObject(config) || !Object.hasOwn(config, "sample_rate")) return;
  if (!Object.hasOwn(config, "sampleRate")) config.sampleRate = config.sample_rate;
  delete config.sample_rate;
}

/** The members of a log that n8n's editor wraps; each is an empty object when it was left alone. */
const wrappers = { prompt: "promptValues", variables: "variableValues", evaluators: "evaluatorValues" };

function readLog(log: Members, path: string, { sdk, ...reading }: Reading & { sdk: unknown }): void {
  const { warnings } = reading;
  readTexts(log, path, reading);
  const unwrapped = Object.entries(wrappers).filter((one) => unwrap(log, ...one, path, warnings));
  const zeros =
    unwrapped.length > 0 ? ["cost", "inputTokens", "outputTokens"] : sdk === "nodejs" ? ["cost"] : [];
  for (const name of zeros) if (log[name] === 0) log[name] = null; // the client sends 0 when nothing was set
}

const MAX_DIGITS = 16;

function readTexts(object: Members, path: string, { warnings, counts }: Reading): void {
  const { metadata, startTime, endTime } = object;
  if (metadata === "") object.metadata = null;
  else if (typeof metadata === "string") {
    const parsed = parseObject(metadata, counts, `${path}metadata`);
    if (parsed) {
      object.metadata = parsed;
      warnings.push(converted(`${path}metadata`, "is an object written as text; it was read as the object"));
    }
  }
  for (const [name, time] of Object.entries({ startTime, endTime }))
    if (typeof time === "string" && time.length <= MAX_DIGITS && /^\d+$/.test(time)) {
      object[name] = Number(time);
      warnings.push(
        converted(`${path}${name}`, "is a number written as text; it was read as epoch milliseconds"),
      );
    }
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

/** Returns whether the value has the form that the editor gives it. */
function unwrap(object: Members, name: string, wrapper: string, path: string, warnings: Warning[]): boolean {
  const value = object[name];
  if (!isObject(value)) return false;
  const members = Object.keys(value);
  if (!members.every((member) => member === wrapper)) return false;
  if (members.length > 0)
    warnings.push(converted(`${path}${name}`, `is wrapped in ${wrapper}; what is inside was read`));
  object[name] = value[wrapper] ?? null;
  return true;
}

function converted(path: string, what: string): Warning {
  return { code: "FORM_CONVERTED", message: `${path} ${what}.`, path };
}
