import type { OpenAPIV3_1 } from "openapi-types";
import type { Database } from "../src/database/open.ts";
import { FIRST_WORKSPACE } from "../src/workspaces/firstWorkspace.ts";
import { createWorkspace, getWorkspaceId } from "../src/workspaces/resolvers.ts";
import { addFixtures } from "../test/support/fixtures.ts";
import type { Field } from "./fields.ts";
import { graphqlTargets, restTargets, type Sent, type Take, type Target } from "./injectionTargets.ts";
import { extraFields, NEVER_SENT, payloads, THEIRS } from "./payloads.ts";
import { type StoredRow, storedRows } from "./storedRows.ts";

export interface InjectionResult {
  fields: number;
  requests: number;
  /** How many were carried out, with what was injected as plain text or as nothing. */
  taken: number;
  faults: string[];
}

export type Send = (request: Sent) => Promise<{ status: number; body: unknown }>;

/**
 * Puts payloads in place of every field of every input by both APIs. Each must be refused, or be stored as the text that it
 * is; no row may change but those that the operation changes without it. `perField` says how many each field gets, in turn; those of
 * queries get four times as many. Stops after the first operation with a fault.
 */
export async function injectEverywhere(
  send: Send,
  database: Database,
  { own, other, perField = payloads.length }: { own: string; other: string; perField?: number },
): Promise<InjectionResult> {
  const fixtures = await addFixtures(database, own, { mark: "own", secret: "ours" });
  const theirs = await addFixtures(database, other, { mark: "other", secret: `${THEIRS} ${NEVER_SENT}` });
  const extras = extraFields({ workspace: other, id: theirs.row });
  const take = inTurn(perField);
  const { body: document } = await send({ method: "GET", path: "/openapi.json" });
  const targets = [
    ...graphqlTargets(fixtures, extras, take),
    ...restTargets(document as OpenAPIV3_1.Document, fixtures, extras, take),
  ];
  const result: InjectionResult = { fields: 0, requests: 0, taken: 0, faults: [] };
  // What is made under the name of a payload would be what others are to leave alone.
  const isMaking = ({ name }: Target) => /^create|publish/.test(name);
  let rows = await storedRows(database);
  for (const target of targets.toSorted((one, next) => Number(isMaking(one)) - Number(isMaking(next))))
    if (result.faults.length === 0) rows = await attack({ send, database, own, rows }, target, result);
  return result;
}

interface Injected {
  request: (method: Sent["method"], path: string, body: unknown) => ReturnType<Send>;
  database: Database;
}

/** The same for a server in this process, which must be new. */
export async function injectInto(
  { request, database }: Injected,
  perField: number,
): Promise<InjectionResult> {
  const other = await createWorkspace(database, "other");
  const own = await getWorkspaceId(database, FIRST_WORKSPACE);
  const send: Send = ({ method, path, body }) => request(method, path, body);
  return injectEverywhere(send, database, { own, other, perField });
}

/** The next payloads for a field; all of them come in turn. */
function inTurn(perField: number): Take {
  let next = 0;
  return (share) => {
    const length = Math.min(perField * share, payloads.length);
    return Array.from({ length }, () => payloads[next++ % payloads.length]);
  };
}

interface Attacked {
  send: Send;
  database: Database;
  own: string;
  /** All that is stored. */
  rows: Rows;
}

/** Gives what is stored afterwards. */
async function attack(
  { send, database, own, rows: untouched }: Attacked,
  { name, isRead, fields, base, attacks }: Target,
  result: InjectionResult,
): Promise<Rows> {
  const report = (fault: string) => result.faults.push(`${name}: ${fault}`);
  if (base) await send(base);
  const before = base ? await storedRows(database) : untouched;
  const stored: { sent: string; text: string }[] = [];
  for (const [at, { field, payload, method, path, body }] of attacks.entries()) {
    const sent = `${field.path.join(".")} = ${JSON.stringify(payload)}`;
    const answer = await send({ method, path, body: unique(body, result.requests + at) });
    const text = JSON.stringify(answer.body);
    const isTaken = answer.status < 300 && !text.includes('"errors":');
    if (answer.status >= 500 || /"INTERNAL"|"UNAVAILABLE"/.test(text)) report(`${sent} was answered ${text}`);
    if (text.includes(NEVER_SENT)) report(`${sent} shows data of others: ${text}`);
    if (isTaken && isRead && field.isText && typeof payload === "string" && hasFound(answer.body))
      report(`${sent} found ${text}`);
    const isStored = field.isText && typeof payload === "string" && !isLookedUp(name, field);
    if (isTaken && !isRead && isStored) stored.push({ sent, text: payload });
    result.taken += isTaken ? 1 : 0;
  }
  result.fields += fields.length;
  result.requests += attacks.length;
  const after = await storedRows(database);
  const keys = attacks.flatMap(({ field, payload }) => (field.path.at(-1) === "key" ? [payload] : []));
  for (const fault of changesBeyond({ untouched, before, after }, own, new Set(keys))) report(fault);
  const all = [...after.values()].map(({ text }) => text.toLowerCase()).join("\n");
  for (const { sent, text } of stored) if (!holds(all, text)) report(`${sent} was not stored as it is`);
  return after;
}

/** What is made gets a name of its own, as it is made again and again. */
function unique(body: unknown, at: number): unknown {
  if (body === undefined) return undefined;
  const text = JSON.stringify(body);
  return JSON.parse(
    text
      .replaceAll('"own-unused"', `"own-unused-${at}"`)
      .replaceAll('"own-key"', `"own-key-${at}"`)
      .replaceAll('"3.0.0"', `"3.0.${at}"`),
  );
}

/** Fields that only say where to look. */
function isLookedUp(name: string, { path }: Field): boolean {
  return LOOKED_UP.test(`${name} ${path.join(".")}`);
}

const LOOKED_UP =
  /^logPrompt input\.(?:version|tag)|^(?:logTrace input|POST \/monitor\/trace)[. ]logs\.0\.prompt\.(?:version|tag)|^POST \/monitor\/log (?:version|tag)|^POST \S+publish tag|^addLogToDataset input\.columns\.0\.(?:column|variable)/;

function hasFound(body: unknown): boolean {
  const { data, prompts } = body as { data?: Record<string, unknown>; prompts?: unknown[] };
  const [list] = data ? Object.values(data) : [prompts];
  return Array.isArray(list) && list.length > 0;
}

/** As a text of its own, or within JSON that is stored as a text. */
function holds(all: string, text: string): boolean {
  const once = JSON.stringify(text.toLowerCase());
  return all.includes(once) || all.includes(JSON.stringify(once).slice(1, -1));
}

type Rows = Map<string, StoredRow>;

/** What changed beside the rows that the operation is to change: those that it changes by itself, or that have a key that was sent. */
function changesBeyond(
  { untouched, before, after }: Record<"untouched" | "before" | "after", Rows>,
  own: string,
  keys: Set<unknown>,
): string[] {
  const isOfBase = (key: string) =>
    untouched.get(key)?.text !== before.get(key)?.text || keys.has(JSON.parse(before.get(key)!.text).key);
  const lost = [...before].flatMap(([key, { text }]) => {
    const now = after.get(key);
    return now?.text === text || isOfBase(key)
      ? []
      : [now ? `changed ${key} from ${text} to ${now.text}` : `removed ${key}`];
  });
  const added = [...after].flatMap(([key, { workspaceId, text }]) => {
    if (before.has(key)) return [];
    const { created_at } = JSON.parse(text) as { created_at: string | number };
    const isOld = new Date(created_at).getTime() < Date.now() - 3_600_000;
    return workspaceId === own && !isOld ? [] : [`added ${key}: ${text}`];
  });
  return [...lost, ...added];
}
