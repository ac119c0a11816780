import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { type Database, openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";
import { FIRST_WORKSPACE } from "../src/workspaces/firstWorkspace.ts";
import { commandLineContext, getWorkspaceId } from "../src/workspaces/resolvers.ts";
import { createAccessToken, revokeAccessToken } from "../src/workspaces/tokens.resolvers.ts";
import { generateToken } from "../src/workspaces/tokens.ts";
import { addFixtures, type Fixtures, missingFixtures } from "../test/support/fixtures.ts";
import { type Breaking, breakDatabase, breakings } from "./brokenDatabase.ts";
import { type Gateway, type How, prepareDatabase, startGateway, TOKEN } from "./gateway.ts";
import { everyOperation, keyed, PAYLOAD, type Request, refusals, waysToSend } from "./secretRequests.ts";
import { storedRows } from "./storedRows.ts";

export interface SecretsResult {
  requests: number;
  /** How many faults the log has, so that it is known to have them at all. */
  faultsLogged: number;
  /** What was found where it must not be, each with what stands around it. */
  inLogs: string[];
  inAnswers: string[];
  inDatabase: string[];
}

/** What can be sent: operations, what is refused before it is one, tokens in wrong places, and all while the database fails. */
export const kinds = ["operations", "repeats", "refusals", "tokens", ...breakings] as const;
type Kind = (typeof kinds)[number];

/**
 * Sends tokens and payloads by every route and with every error to a gateway at its most talkative, then looks for them in
 * all that it printed, in what it answered, and for tokens in the database.
 */
export async function lookForSecrets(how: How, sent: readonly Kind[] = kinds): Promise<SecretsResult> {
  await prepareDatabase(how.databaseUrl);
  const database = await openDatabase(how.databaseUrl, entities);
  try {
    const workspaceId = await getWorkspaceId(database, FIRST_WORKSPACE);
    const addSet = (mark: string) =>
      addFixtures(database, workspaceId, { mark: `${PAYLOAD}-${mark}`, secret: PAYLOAD });
    const tokens = await makeTokens(database, workspaceId);
    const env = { LOG_LEVEL: "trace", METRICS_TOKEN: OF_METRICS, ...how.env };
    const gateway = await startGateway({ ...how, env });
    const asked = createAsking(gateway, tokens);
    let said = "";
    try {
      for (const [at, kind] of sent.entries()) {
        const fixtures = await addSet(`set${at}`);
        if (kind === "operations") await sendOperations(asked, fixtures);
        else if (kind === "repeats") await sendRepeats(asked, fixtures);
        else if (kind === "refusals") await sendRefusals(asked, fixtures);
        else if (kind === "tokens") await sendTokens(asked, tokens);
        else await sendToBroken(asked, fixtures, { database, kind });
      }
      said += await metricsOf(gateway);
    } finally {
      await gateway.stop();
    }
    said += gateway.said();
    return {
      requests: asked.count(),
      faultsLogged: said.split("\n").filter((line) => line.includes('"level":50')).length,
      inLogs: found(said, [PAYLOAD, OF_METRICS, ...secretsOf(asked.tokens)]),
      inAnswers: asked.faults,
      inDatabase: found(await allStored(how.databaseUrl, database), secretsOf(asked.tokens)),
    };
  } finally {
    await database.close();
  }
}

const OF_METRICS = "a-token-for-metrics-only-0123456789";

/** The metrics of the gateway, if it answers. */
async function metricsOf({ url }: Gateway): Promise<string> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${OF_METRICS}` } });
  const text = await answer.text();
  return answer.ok ? text : "";
}

async function makeTokens(database: Database, workspaceId: string): Promise<string[]> {
  const context = () => commandLineContext(database, workspaceId);
  const make = (expiresAt: Date | null) =>
    createAccessToken(context(), { name: "made", scopes: ["read"], expiresAt });
  const [expired, revoked] = [await make(new Date(Date.now() - 1_000)), await make(null)];
  await revokeAccessToken(context(), { id: revoked.accessToken.id });
  return [TOKEN, expired.token, revoked.token, (await make(null)).token, generateToken()];
}

const withToken = (requests: Request[], token = TOKEN): Request[] => requests.map(waysToSend(token)[0]!);

const NOWHERE = missingFixtures(`${PAYLOAD}-none`);

async function sendOperations(asked: Asking, fixtures: Fixtures): Promise<void> {
  await asked.all(withToken(everyOperation(NOWHERE)));
  await asked.all(withToken(everyOperation(fixtures)));
}

async function sendRepeats(asked: Asking, fixtures: Fixtures): Promise<void> {
  const repeated = withToken(keyed(everyOperation(fixtures)));
  await asked.all([...repeated, ...repeated]);
  const made = `mutation { createAccessToken(input: { name: "${PAYLOAD}", scopes: [ADMIN] }) { token } }`;
  const [answer] = await asked.all(withToken([asOperation(made)]));
  asked.tokens.push(JSON.parse(answer!).data.createAccessToken.token);
}

async function sendRefusals(asked: Asking, fixtures: Fixtures): Promise<void> {
  await asked.all(withToken(refusals(fixtures)));
  await asked.all(refusals(fixtures));
  await asked.raw(`NONSENSE ${PAYLOAD} ${TOKEN}\r\n\r\n`);
  await asked.raw(`GET / HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\nX: ${PAYLOAD.repeat(2_000)}\r\n\r\n`);
}

/** Of all operations one that reads by REST, one that writes, and one of GraphQL are enough for an API. */
async function sendTokens(asked: Asking, tokens: string[]): Promise<void> {
  const all = everyOperation(NOWHERE);
  const some = [all[1]!, all[7]!, all[12]!];
  for (const token of tokens) for (const way of waysToSend(token)) await asked.all(some.map(way));
}

async function sendToBroken(
  asked: Asking,
  fixtures: Fixtures,
  { database, kind }: { database: Database; kind: Breaking },
): Promise<void> {
  const mend = await breakDatabase(database, kind);
  const operations = everyOperation(fixtures);
  await asked.all(withToken([...operations, ...keyed(operations.slice(0, 12))]));
  await mend();
}

function asOperation(query: string): Request {
  const headers = { "content-type": "application/json", "idempotency-key": `${PAYLOAD}-made` };
  return { path: "/graphql", method: "POST", headers, body: JSON.stringify({ query }) };
}

type Asking = ReturnType<typeof createAsking>;

/** What shows the inside: statements, files, places in the source. */
const INSIDES =
  /\b(?:select|insert into|update|delete from)\b[^.]*\b(?:from|values|set|where)\b|SQLITE_|\bat \w[\w.]* \(|node_modules|\.[tj]s:\d|node:|\/src\/|"stack"/i;

const MAX_ANSWER_MS = 60_000;

function createAsking({ url }: Gateway, known: string[]) {
  const tokens = [...known];
  const faults: string[] = [];
  let count = 0;
  const judge = (request: string, status: number, text: string) => {
    const isError = status >= 400 || text.includes('"errors":');
    const isMaking = text.includes('"createAccessToken"');
    const shown = [
      ...(isMaking ? [] : found(text, secretsOf(tokens))),
      ...(isError && INSIDES.test(text) ? [text.slice(0, 500)] : []),
    ];
    faults.push(...shown.map((fault) => `${request} was answered ${status}: ${fault}`));
  };
  const ask = async ({ path, ...request }: Request): Promise<string> => {
    count += 1;
    const signal = AbortSignal.timeout(MAX_ANSWER_MS);
    const answer = await fetch(`${url}${path}`, { ...request, signal });
    const text = await answer.text();
    judge(`${request.method} ${path.slice(0, 200)}`, answer.status, text);
    return text;
  };
  return {
    tokens,
    faults,
    count: () => count,
    /** Sends one after another, as what one does may be what the next is asked about. */
    all: async (requests: Request[]): Promise<string[]> => {
      const answers: string[] = [];
      for (const request of requests) answers.push(await ask(request));
      return answers;
    },
    raw: async (bytes: string): Promise<void> => {
      count += 1;
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {}); // it may be cut before all of it is sent
      socket.write(bytes);
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      judge("bytes", 400, answer);
    },
  };
}

const AROUND = 120;

/** Each place where one of some texts stands, with what is around it; at most a few of each. */
function found(where: string, texts: string[]): string[] {
  return texts.flatMap((text) => {
    const places: string[] = [];
    for (let at = where.indexOf(text); at >= 0 && places.length < 5; at = where.indexOf(text, at + 10_000))
      places.push(where.slice(Math.max(0, at - AROUND), at + text.length + AROUND));
    return places;
  });
}

/** Tokens as they are, and as browsers and old clients wrap them. */
function secretsOf(tokens: string[]): string[] {
  const inBase64 = tokens.map((token) => Buffer.from(`user:${token}`).toString("base64"));
  return [...tokens, ...inBase64];
}

/** All that the database has, in its files or, where those are out of reach, in its tables. */
async function allStored(databaseUrl: string, database: Database): Promise<string> {
  if (!databaseUrl.startsWith("sqlite:"))
    return [...(await storedRows(database)).values()].map(({ text }) => text).join("\n");
  const path = databaseUrl.slice("sqlite:".length);
  const files = await Promise.all(
    [path, `${path}-wal`].map((file) => readFile(file, "latin1").catch(() => "")),
  );
  return files.join("\n");
}
