import {
  type ClientForms,
  converted,
  isObject,
  type Members,
  newReading,
  type Reading,
  readMetadata,
} from "../datasets/clientForms.inputs.ts";
import type { Warning } from "../warnings.ts";
import { MAX_LOGS } from "./traces.inputs.ts";

/** The body of a single log, whose client may send `metadata` and times as text. */
export function readFlatForms(body: unknown): ClientForms {
  const reading = newReading();
  if (isObject(body)) readTexts(body, "", reading);
  return { body, warnings: reading.warnings };
}

/**
 * The body of a trace, whose client may also wrap lists and objects, and send empty objects and zeros for what was not set. `sdk` is
 * the client's own name for itself.
 */
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

function readTexts(object: Members, path: string, reading: Reading): void {
  readMetadata(object, path, reading);
  const { startTime, endTime } = object;
  for (const [name, time] of Object.entries({ startTime, endTime }))
    if (typeof time === "string" && time.length <= MAX_DIGITS && /^\d+$/.test(time)) {
      object[name] = Number(time);
      reading.warnings.push(
        converted(`${path}${name}`, "is a number written as text; it was read as epoch milliseconds"),
      );
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
