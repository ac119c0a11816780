import { openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";
import { FIRST_WORKSPACE } from "../src/workspaces/firstWorkspace.ts";
import { createWorkspace, getWorkspaceId } from "../src/workspaces/resolvers.ts";
import { sendBadInput } from "./badInput.ts";
import { type Gateway, type How, headers, prepareDatabase, startGateway } from "./gateway.ts";
import { injectEverywhere, type Send } from "./injection.ts";
import { crossWorkspaces, type IsolationResult, tablesToSpoil } from "./isolation.ts";
import { count, type Outcome, seconds, type Test, type Within } from "./outcome.ts";
import { payloads } from "./payloads.ts";
import { lookForSecrets, type SecretsResult } from "./secrets.ts";

/** What others try with a gateway, each on both databases. */
export function attacks({ withFile, withPostgresql }: Record<"withFile" | "withPostgresql", Within>) {
  const tests: Record<string, Test> = {};
  for (const [end, within] of [
    ["", withFile],
    ["-on-postgresql", withPostgresql],
  ] as const) {
    tests[`bad-input${end}`] = {
      cases: 100_000,
      run: withBadInput(within),
      control: withBadInputAndSpoilt(within),
    };
    tests[`isolation${end}`] = { cases: 10_000, run: crossed(within), control: crossedAndSpoilt(within) };
    tests[`injection${end}`] = {
      cases: payloads.length,
      run: injected(within),
      control: injectedWithoutEscapes(within),
    };
    tests[`secrets${end}`] = { cases: 1, run: lookedFor(within), control: lookedForInPrinted(within) };
  }
  return tests;
}

const tellOf = (faults: string[]) => process.stderr.write(faults.map((fault) => `${fault}\n`).join(""));

const crossing =
  (within: Within) =>
  (operations: number, spoilt: Pick<How, "preload" | "env"> = {}): Promise<IsolationResult> =>
    within(async (databaseUrl) => {
      await prepareDatabase(databaseUrl);
      const database = await openDatabase(databaseUrl, entities);
      try {
        return await crossWorkspaces(database, () => startGateway({ databaseUrl, ...spoilt }), {
          operations,
        });
      } finally {
        await database.close();
      }
    });
const crossed =
  (within: Within) =>
  async (operations: number): Promise<Outcome> => {
    const { leaks, changes, succeeded, operations: sent } = await crossing(within)(operations);
    tellOf([...leaks, ...changes]);
    return {
      result: `${count(succeeded)} carried out, ${leaks.length} leaks, ${changes.length} changes`,
      isAsWanted: leaks.length + changes.length === 0 && sent === operations,
    };
  };
const crossedAndSpoilt = (within: Within) => async (): Promise<Outcome> => {
  const found: string[] = [];
  for (const table of tablesToSpoil) {
    const spoilt = { preload: "anyWorkspace", env: { SPOILT_TABLE: table } };
    const { leaks, operations } = await crossing(within)(2_000, spoilt);
    found.push(`${table} ${leaks.length > 0 ? `after ${operations}` : "NOT"}`);
  }
  const result = `found for each table that is read from all workspaces: ${found.join(", ")}`;
  return { result, isAsWanted: !result.includes("NOT") };
};

const injecting =
  (within: Within) =>
  (perField: number, spoilt: Pick<How, "preload"> = {}) =>
    within(async (databaseUrl) => {
      await prepareDatabase(databaseUrl);
      const database = await openDatabase(databaseUrl, entities);
      const own = await getWorkspaceId(database, FIRST_WORKSPACE);
      const other = await createWorkspace(database, "other");
      const gateway = await startGateway({ databaseUrl, ...spoilt });
      try {
        return await injectEverywhere(sendTo(gateway), database, { own, other, perField });
      } finally {
        await gateway.stop();
        await database.close();
      }
    });
const sendTo =
  ({ url }: Gateway): Send =>
  async ({ method, path, body }) => {
    const { "content-type": type, ...plain } = headers;
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: body === undefined ? plain : { ...plain, "content-type": type },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  };
const injected = (within: Within) => async (perField: number) => {
  const { fields, requests, taken, faults } = await injecting(within)(perField);
  tellOf(faults);
  const refused = `${count(requests - taken)} refused, ${count(taken)} taken as plain text`;
  return {
    result: `${fields} fields, ${count(requests)} requests, ${refused}, ${faults.length} other changes or answers`,
    isAsWanted: faults.length === 0,
  };
};
const injectedWithoutEscapes = (within: Within) => async () => {
  const { faults } = await injecting(within)(payloads.length, { preload: "unescaped" });
  return { result: `${faults.length} found at the first operation`, isAsWanted: faults.length > 0 };
};

const lookedFor = (within: Within) => async (): Promise<Outcome> => {
  const results = [
    await within((databaseUrl) => lookForSecrets({ databaseUrl })),
    await within((databaseUrl) => lookForSecrets({ databaseUrl, preload: "failingWorkers" }, ["operations"])),
  ];
  const sum = (of: (result: SecretsResult) => number) => results.reduce((all, one) => all + of(one), 0);
  const [logs, answers, stored] = [
    sum(({ inLogs }) => inLogs.length),
    sum(({ inAnswers }) => inAnswers.length),
    sum(({ inDatabase }) => inDatabase.length),
  ];
  tellOf(results.flatMap(({ inLogs, inAnswers, inDatabase }) => [...inLogs, ...inAnswers, ...inDatabase]));
  const sent = `${count(sum(({ requests }) => requests))} requests, ${count(sum(({ faultsLogged }) => faultsLogged))} faults logged`;
  return {
    result: `${sent}, ${logs} tokens or payloads printed, ${answers} tokens or insides in answers, ${stored} tokens stored`,
    isAsWanted: logs + answers + stored === 0,
  };
};
const lookedForInPrinted = (within: Within) => async (): Promise<Outcome> => {
  const found = await within((databaseUrl) =>
    lookForSecrets({ databaseUrl, preload: "logBodies" }, ["tokens"]),
  );
  return { result: `${found.inLogs.length} found`, isAsWanted: found.inLogs.length > 0 };
};

const randomSeed = () => Math.floor(Math.random() * 2 ** 30);
const withBadInput =
  (within: Within) =>
  async (cases: number, seed?: number): Promise<Outcome> => {
    const seeds = seed === undefined ? [1, randomSeed()] : [seed];
    const found = await within((databaseUrl) =>
      sendBadInput({ databaseUrl }, { cases, kept: cases / 10, seeds }),
    );
    for (const fault of found.faults) process.stderr.write(`${fault}\n`);
    const { rest, graphql, raw } = found.cases;
    const sent = `${count(rest)} by REST, ${count(graphql)} by GraphQL, ${count(raw)} that may be no HTTP`;
    const result = `${sent}: ${found.faults.length} answered otherwise than documented, the slowest after ${seconds(found.slowestMs)}; ${count(found.kept)} accepted values read back as they were sent`;
    return { result, isAsWanted: found.faults.length === 0 };
  };
const withBadInputAndSpoilt = (within: Within) => async (): Promise<Outcome> => {
  const spoilt = async (preload: string, wanted: { cases: number; kept: number }) => {
    const found = await within((databaseUrl) =>
      sendBadInput({ databaseUrl, preload }, { ...wanted, seeds: [1], maxFaults: 1 }),
    );
    return found.faults.length;
  };
  const failing = await spoilt("textsInStatements", { cases: 1_000, kept: 0 });
  const changing = await spoilt("textsUnchecked", { cases: 0, kept: 1_000 });
  const result = `${failing > 0 ? "" : "not "}found where statements are made of texts, ${changing > 0 ? "" : "not "}found where texts are not checked`;
  return { result, isAsWanted: failing > 0 && changing > 0 };
};
