import type { Database } from "../src/database/open.ts";
import { scopes } from "../src/scopes.ts";
import { commandLineContext, createWorkspace } from "../src/workspaces/resolvers.ts";
import { createAccessToken } from "../src/workspaces/tokens.resolvers.ts";
import { addFixtures, type Fixtures, missingFixtures } from "../test/support/fixtures.ts";
import { createRandom } from "../test/support/random.ts";
import { type Caller, createCaller, drawRequest, SECRET, type Sent, withoutNames } from "./callers.ts";
import type { Gateway } from "./gateway.ts";
import { storedRows, sumsOf } from "./storedRows.ts";

export interface IsolationResult {
  operations: number;
  /** How many were carried out, not refused. */
  succeeded: number;
  /** Answers with something of the other workspace, or that differ for what it has and what is nowhere. */
  leaks: string[];
  /** What is not as before in the other workspace, and rows that belong to those of another one. */
  changes: string[];
}

/**
 * Those that a gateway is spoilt for, one by one: who reads them must see it. Versions, tags and their moves are not among
 * them, as nothing that is sent leads to them but by a prompt, which is read by its workspace.
 */
export const tablesToSpoil = [
  "access_tokens",
  "audit_entries",
  "datasets",
  "dataset_rows",
  "logs",
  "model_prices",
  "prompts",
  "traces",
];

const SETS = 2;

/**
 * Sends random operations with the token of one workspace and the ids, slugs, cursors and keys of another. Beside each the
 * same is sent from a third workspace about what is nowhere: the answers must be the same in all but those names. Stops at
 * the first leak. The gateway that `start` starts serves the same database.
 */
export async function crossWorkspaces(
  database: Database,
  start: () => Promise<Serving>,
  { operations, seed = 1 }: { operations: number; seed?: number },
): Promise<IsolationResult> {
  const { victimId, victimToken, theirs, callers } = await prepare(database);
  const gateway = await start();
  try {
    await useKeys(gateway, victimToken, theirs);
    const before = await sumsOf(database, victimId);
    const { sent, succeeded, leaks } = await play(gateway, callers, { operations, seed });
    const after = await sumsOf(database, victimId);
    const changed = Object.keys(before).filter((table) => before[table] !== after[table]);
    const changes = [...changed, ...(await linksAcross(database))];
    return { operations: sent, succeeded, leaks, changes };
  } finally {
    await gateway.stop();
  }
}

type Serving = Pick<Gateway, "url" | "stop">;

async function prepare(database: Database) {
  const victimId = await createWorkspace(database, "asked about");
  const marks = Array.from({ length: SETS }, (_, at) => at);
  const theirs: Fixtures[] = [];
  for (const at of marks)
    theirs.push(await addFixtures(database, victimId, { mark: `thing-x${at}`, secret: SECRET }));
  const nobodys = marks.map((at) => missingFixtures(`thing-y${at}`));
  const callers: Caller[] = [];
  for (const [name, others] of [
    ["asking", theirs],
    ["asking of nothing", nobodys],
  ] as const) {
    const id = await createWorkspace(database, name);
    const own: Fixtures[] = [];
    for (const at of marks) own.push(await addFixtures(database, id, { mark: `own${at}`, secret: "ours" }));
    callers.push(createCaller({ token: await tokenFor(database, id), theirs: others, own }));
  }
  return { victimId, theirs, callers, victimToken: await tokenFor(database, victimId) };
}

async function tokenFor(database: Database, workspaceId: string): Promise<string> {
  const input = { name: "its own", scopes: [...scopes], expiresAt: null };
  return (await createAccessToken(commandLineContext(database, workspaceId), input)).token;
}

/** The keys that the callers send are those of others too. */
async function useKeys({ url }: Serving, token: string, theirs: Fixtures[]): Promise<void> {
  for (const { key, prompt } of theirs) {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "idempotency-key": key,
    };
    const body = JSON.stringify({ slug: prompt, output: SECRET });
    const { status } = await fetch(`${url}/monitor/log`, { method: "POST", headers, body });
    if (status !== 200) throw new Error(`A log was refused: ${status}`);
  }
}

interface Answered {
  status: number;
  replayed: string | null;
  text: string;
}

async function send({ url }: Serving, { path, ...request }: Sent): Promise<Answered> {
  const answer = await fetch(`${url}${path}`, request);
  const replayed = answer.headers.get("idempotent-replayed");
  return { status: answer.status, replayed, text: await answer.text() };
}

async function play(
  gateway: Serving,
  callers: Caller[],
  { operations, seed }: { operations: number; seed: number },
) {
  const { random } = createRandom(seed);
  const result = { sent: 0, succeeded: 0, leaks: [] as string[] };
  while (result.sent < operations && result.leaks.length === 0) {
    const draw = Math.floor(random() * 2 ** 31);
    const requests = callers.map((caller) => drawRequest(caller, createRandom(draw)));
    const ask = () => Promise.all(requests.map((request) => send(gateway, request)));
    let answers = await ask();
    // On a busy machine a template may take too long, for either of them; any other difference counts at once, but for what was
    // rejected, which is stored from time to time and so perhaps between the two.
    const mayDiffer =
      answers.some(isBusy) ||
      (requests[0]!.name === "rejectedItems" && leakIn(callers, requests, answers).length > 0);
    if (requests[0]!.isRead && mayDiffer) answers = await ask();
    result.leaks.push(...leakIn(callers, requests, answers));
    result.sent += 1;
    if (answers[0]!.status < 300 && !answers[0]!.text.includes('"errors"')) result.succeeded += 1;
  }
  return result;
}

const isBusy = ({ text }: Answered) => /"code":"(?:TIMED_OUT|UNAVAILABLE)"/.test(text);

/** What the first caller learned that the other one did not. */
function leakIn(callers: Caller[], [request]: Sent[], answers: Answered[]): string[] {
  const [theirs, ofNothing] = answers.map((answer, at) => {
    const { status, replayed, text } = answer;
    return `${status} ${replayed} ${withoutNames(callers[at]!, text)}`;
  });
  const isSecret = theirs!.includes(SECRET);
  if (theirs === ofNothing && !isSecret) return [];
  const { name, path, body } = request!;
  return [`${name}: ${path} ${body} was answered ${answers[0]!.text}, not ${answers[1]!.text}`];
}

/** Rows that name a row of another workspace. */
async function linksAcross(database: Database): Promise<string[]> {
  const rows = await storedRows(database);
  const owners = new Map([...rows.values()].map(({ id, workspaceId }) => [id, workspaceId]));
  return [...rows.values()].flatMap(({ table, id, workspaceId, text }) =>
    Object.entries(JSON.parse(text) as object).flatMap(([column, value]) => {
      const owner = owners.get(value);
      return owner && owner !== workspaceId ? [`${column} of ${table} ${id} is of another workspace`] : [];
    }),
  );
}
