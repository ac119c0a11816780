import type { Database } from "../src/database/open.ts";
import { scopes } from "../src/scopes.ts";
import { commandLineContext, createWorkspace } from "../src/workspaces/resolvers.ts";
import { createAccessToken } from "../src/workspaces/tokens.resolvers.ts";
import type { Gateway } from "./gateway.ts";
import { createPlayer, drawRequest, type Player, SECRET, type Sent, withoutNames } from "./players.ts";
import { createRandom } from "./random.ts";
import { storedRows, sumsOf } from "./sums.ts";
import { addThings, nothings, type Things } from "./things.ts";

export interface IsolationResult {
  operations: number;
  /** How many were carried out, not refused. */
  succeeded: number;
  /** Answers with something of the other workspace, or that tell its things from what is nowhere. */
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
  const { victimId, victimToken, theirs, players } = await prepare(database);
  const gateway = await start();
  try {
    await useKeys(gateway, victimToken, theirs);
    const before = await sumsOf(database, victimId);
    const { sent, succeeded, leaks } = await play(gateway, players, { operations, seed });
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
  const theirs: Things[] = [];
  for (const at of marks)
    theirs.push(await addThings(database, victimId, { mark: `thing-x${at}`, secret: SECRET }));
  const nobodys = marks.map((at) => nothings(`thing-y${at}`));
  const players: Player[] = [];
  for (const [name, others] of [
    ["asking", theirs],
    ["asking of nothing", nobodys],
  ] as const) {
    const id = await createWorkspace(database, name);
    const own: Things[] = [];
    for (const at of marks) own.push(await addThings(database, id, { mark: `own${at}`, secret: "ours" }));
    players.push(createPlayer({ token: await tokenFor(database, id), theirs: others, own }));
  }
  return { victimId, theirs, players, victimToken: await tokenFor(database, victimId) };
}

async function tokenFor(database: Database, workspaceId: string): Promise<string> {
  const input = { name: "its own", scopes: [...scopes], expiresAt: null };
  return (await createAccessToken(commandLineContext(database, workspaceId), input)).token;
}

/** The keys that the players send are those of others too. */
async function useKeys({ url }: Serving, token: string, theirs: Things[]): Promise<void> {
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
  players: Player[],
  { operations, seed }: { operations: number; seed: number },
) {
  const { random } = createRandom(seed);
  const result = { sent: 0, succeeded: 0, leaks: [] as string[] };
  while (result.sent < operations && result.leaks.length === 0) {
    const draw = Math.floor(random() * 2 ** 31);
    const requests = players.map((player) => drawRequest(player, createRandom(draw)));
    const ask = () => Promise.all(requests.map((request) => send(gateway, request)));
    let answers = await ask();
    // On a busy machine a template may take too long once, for either of them.
    if (requests[0]!.isRead && leakIn(players, requests, answers)) answers = await ask();
    result.leaks.push(...leakIn(players, requests, answers));
    result.sent += 1;
    if (answers[0]!.status < 300 && !answers[0]!.text.includes('"errors"')) result.succeeded += 1;
  }
  return result;
}

/** What the first player learned that the other one did not. */
function leakIn(players: Player[], [request]: Sent[], answers: Answered[]): string[] {
  const [told, ofNothing] = answers.map((answer, at) => {
    const { status, replayed, text } = answer;
    return `${status} ${replayed} ${withoutNames(players[at]!, text)}`;
  });
  const isSecret = told!.includes(SECRET);
  if (told === ofNothing && !isSecret) return [];
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
