import { join } from "node:path";
import { expect, test } from "vitest";
import { readSources, toSource } from "../support/sources.ts";

const SRC = join(import.meta.dirname, "../../src");

/**
 * Every collection that lives longer than a request, by what bounds it. A new one needs a bound, its place here, and a row in
 * docs/limits.md where callers fill it.
 */
const BOUNDS: Record<string, string[]> = {
  "a number of entries or of characters, which the library keeps": [
    "console/sessions.resolvers.ts createSessionAuthentication.sessions",
    "database/sqlite/keptStatements.ts keepStatements.kept",
    "inbox/queue.ts createRejectionQueue.recent",
    "workspaces/authentication.resolvers.ts createTokenAuthentication.tokens",
  ],
  "a number of entries that stands beside it": [
    "inbox/queue.ts createRejectionQueue.waiting",
    "limits/shares.ts createShares.shares",
    "metrics/deprecations.ts countDeprecations.uses",
    "usage/prices.ts modelCache",
  ],
  "databases that are open, each with a bounded value": [
    "database/cache.ts createCache.caches",
    "database/cache.ts createCache.loads",
    "database/commitCache.ts createCommitCache.states",
    "database/writeQueue.ts queues",
    "inbox/recording.resolvers.ts queues",
    "logs/live.resolvers.ts sharedLogs",
    "prompts/cached.resolvers.ts createFind.caches",
    "prompts/live.resolvers.ts sharedStates",
    "workspaces/subscribers.resolvers.ts sharedChecks",
  ],
  "requests in flight": [
    "database/commitLanes.ts createLanes.lanes",
    "database/commitLanes.ts createLanes.loader",
    "database/lastUses.ts createRecordUse.uses",
    "database/open.ts openDatabase.backgroundWork",
    "database/sharedReads.ts createSharedReads.reading",
    "http/bodyTurns.ts createBodyTurns.lanes",
    "http/unreadTexts.ts createUnreadTexts.workspaces",
    "limits/answerMemory.ts createAnswerMemory.ofWorkspace",
    "limits/eventLoop.ts createEventLoopSlots.lanes",
    "limits/fairQueue.ts createFairQueue.lanes",
    "limits/results.ts createResultTurns.lanes",
    "limits/roundRobin.ts createRoundRobin.lines",
    "logs/prune.resolvers.ts running",
    "usage/tokens.ts counts",
    "workspaces/hashLookup.ts createHashLookup.lookup",
    "workspaces/idempotency.resolvers.ts runningRequests",
  ],
  "requests, rows and documents, which take it with them": [
    "database/loader.ts createLoader.loaders",
    "database/loader.ts leftOfTurns",
    "database/pace.ts paces",
    "database/requestTransaction.ts joins",
    "datasets/entries.resolvers.ts walking",
    "graphql/answerSize.ts largeData",
    "limits/jsonText.ts written",
    "graphql/cost.ts fieldCounts",
    "graphql/deprecations.ts used",
    "http/compression.ts bytesOfAnswers",
    "graphql/lists.ts fieldCounts",
    "graphql/repeatedVariables.ts repeatsOfDocuments",
    "graphql/rootFieldTurns.ts separateRootFields.startedFields",
    "http/unreadBodies.ts discarded",
    "limits/answerMemory.ts createAnswerMemory.ofAnswer",
    "limits/answerMemory.ts createAnswerMemory.turns",
    "logs/payloads.resolvers.ts shared",
    "datasets/clientForms.rest.ts formWarnings",
  ],
  "one request, or the transaction of a few, in which it is made": [
    "database/sqlite/collidingWords.ts createWordFilter.seen",
    "database/sqlite/wordIndex.ts createWordIndexer.texts",
    "limits/jsonBytes.ts createJsonBytes.known",
    "logs/copiedAttributes.ts withoutCopies.keys",
    "logs/otlp/jsonTexts.ts createJsonTexts.known",
    "logs/otlp/largeParts.ts createLargeParts.kept",
    "logs/otlp/largeParts.ts createMeasure.known",
    "logs/otlp/notes.ts createSentences.sentences",
    "templates/parse.ts openBlocks.open",
    "usage/token-worker.ts countTexts.counts",
  ],
  "connections and processes": [
    "database/guardedDialect.ts guardedDriver.connections",
    "database/guardedDialect.ts guardedDriver.endedGuards",
    "database/postgresql/pools.ts createReadingPool.positions",
    "database/postgresql/pools.ts createReadingPool.readers",
    "http/connections.ts createConnections.connections",
    "http/refusals.ts createDelay.waiting",
    "http/server.ts createListen.closings",
    "http/server.ts createListen.listeners",
    "http/server.ts disconnectSlowReaders.readings",
    "http/server.ts disconnectSlowReaders.sockets",
    "limits/workerProcesses.ts createWorkerProcesses.idleTimers",
    "limits/workerProcesses.ts createWorkerProcesses.processes",
    "logs/otlp/grpc.ts offerGrpc.listeners",
    "logs/otlp/grpcConnections.ts createConnections.idle",
    "logs/otlp/grpcConnections.ts createConnections.open",
    "logs/otlp/grpcServer.ts createGrpcServer.sessions",
  ],
  subscriptions: [
    "database/pubsub.ts createCallerChecks.checking",
    "database/pubsub.ts createQueue.waiting",
    "database/pubsub.ts createTopic.listeners",
  ],
  "what the program is made of: entities, statements, routes, fields, codes": [
    "database/encode.ts createEncoder.encoders",
    "database/statements.ts createStatements.sqlCache",
    "datasets/columns.ts NONE",
    "datasets/rowPages.resolvers.ts compiledQueries",
    "graphiql/assets.ts packings",
    "graphiql/assets.ts unpackings",
    "graphql/nodes.ts finders",
    "logs/otlp/reading.ts readers",
    "metrics/otlpSpans.ts countOtlpSpans.counts",
    "metrics/rejections.ts countRejections.counts",
    "metrics/requests.ts countRequests.graphql",
    "metrics/requests.ts countRequests.rest",
    "rest/openapi.ts openApi.files",
    "rest/openapi.ts openApi.routes",
  ],
};

/** A command ends with its program, and a file that it reads has bounds of its own. */
const OF_COMMANDS = /^(?:commands|importers|formats|sample|database\/copy)\//;
/** What a function of such a name makes lives as long as what it returns. */
const MAKES =
  /^(?:count|create|disconnect|guarded|keep|limit|make|offer|open|separate|share|use|without)(?![a-z])|^openApi/;
const DECLARED = /^(?:export )?(?:async )?(?:function\*? (\w+)|const (\w+) =)/;
const HELD =
  /^( {2})?(?:export )?(?:const|let) (\w+)(?:: [^=]+)? = (?:new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\)|new (?:LRUCache|DataLoader)\b|\[\](?: as .*)?;)/;

/** The collections that a module, or a function that makes something, holds and fills later. */
function collectionsIn({ path, text }: { path: string; text: string }): string[] {
  let maker = "";
  return text.split("\n").flatMap((line) => {
    const declared = DECLARED.exec(line);
    if (declared) maker = (declared[1] ?? declared[2])!;
    const [found, indent, name] = HELD.exec(line) ?? [];
    if (found === undefined) return [];
    if (indent === undefined) return [`${path} ${name}`];
    return MAKES.test(maker) ? [`${path} ${maker}.${name}`] : [];
  });
}

test("every collection that lives longer than a request has a bound", async () => {
  const sources = (await readSources(SRC)).filter(({ path }) => !OF_COMMANDS.test(path));
  expect(sources.flatMap(collectionsIn).toSorted()).toEqual(Object.values(BOUNDS).flat().toSorted());
});

test("every cache of the library is made with a bound", async () => {
  const made = (await readSources(SRC)).flatMap(({ path, text }) =>
    [...text.matchAll(/new LRUCache(?:<.*>)?\(([^;]*)/g)].map(([, options]) => ({ path, options: options! })),
  );
  expect(made.length).toBeGreaterThan(5);
  expect(made.filter(({ options }) => !/\bmax(?:Size)?: (?:MAX_\w+|[\d_]+)/.test(options))).toEqual([]);
});

test.each([
  "const found = new Map<string, number>();",
  "export function createThings() {\n  const found: string[] = [];\n}",
])("a collection without a bound is noticed: %j", (text) => {
  expect(collectionsIn(toSource("limits/new.ts", text))).toHaveLength(1);
});
