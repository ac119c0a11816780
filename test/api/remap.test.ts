import { afterEach, beforeEach, expect, test } from "vitest";
import { withCopies } from "../../src/logs/copiedAttributes.ts";
import { Log } from "../../src/logs/entities.ts";
import { importSpans } from "../../src/logs/importedSpans.resolvers.ts";
import { mapSpan } from "../../src/logs/otlp/mapping.ts";
import { remapSpans } from "../../src/logs/remap.resolvers.ts";
import { recordSpans } from "../../src/logs/spans.resolvers.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt, addWorkspace, model } from "../support/data.ts";
import { readOtlpFixtures, toOtlpSpan } from "../support/otlpFixtures.ts";
import { type Server, startServer } from "../support/server.ts";

const ALL_TIME = { from: new Date("2000-01-01"), to: new Date("2100-01-01") };
const fixtures = await readOtlpFixtures();

let server: Server;
beforeEach(async () => {
  server = await startServer();
  await addPrompt(server, {
    slug: "country-guide",
    versions: [{ version: "1.0.0", model: model("openai", "gpt-4o-mini") }],
    tags: { production: "1.0.0" },
  });
  for (const { spans } of fixtures) await recordSpans(await contextOf(), spans.map(mapSpan));
});
afterEach(() => server[Symbol.asyncDispose]());

async function contextOf(workspace?: string) {
  return commandLineContext(server.database, workspace ?? (await getWorkspaceId(server.database, "default")));
}

const rows = async (table = "logs"): Promise<Record<string, unknown>[]> =>
  server.database.orm.em.fork().execute(`select * from ${table} order by id`);

/** Rows without what storing anew assigns. */
const contents = async (table?: string) =>
  (await rows(table)).map(({ search_id: _, created_at: __, ...row }) => row);

const jsonOf = (value: unknown) => (typeof value === "string" ? JSON.parse(value) : value);

const change = (update: string) => server.database.orm.em.fork().execute(update);

const audited = async () =>
  (await rows("audit_entries")).filter(({ action }) => action === "remapSpans").length;

test("mapping the stored spans of every sender again changes nothing", async () => {
  const before = [await rows(), await rows("traces")];
  const result = await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: false });
  expect(result).toEqual({ changed: 0, fields: {}, dryRun: false, examined: expect.any(Number) });
  expect(result.examined).toBe((await rows()).filter(({ type }) => type !== "internal").length);
  expect(result.examined).toBeGreaterThan(50);
  expect([await rows(), await rows("traces")]).toEqual(before);
});

/** Stores the attributes of calls as where neither the input nor the output is one of them: the damage leaves these whole. */
async function storeWholeAttributes(): Promise<void> {
  const { em } = await contextOf();
  const logs = await em.find(Log, { type: "generation" }, { populate: ["attributes", "input", "output"] });
  for (const log of logs) log.attributes = withCopies(log.attributes, log);
  await em.flush();
}

const DAMAGE = `update logs set type = 'span', model = 'none', input = '"lost"', output = null, metadata = null,
  response_id = null, user_id = 'nobody', variables = null, provider = null`;

test("a dry run counts the changed fields of damaged logs and stores nothing, not even in the audit log", async () => {
  const before = await contents();
  const entries = await audited();
  await storeWholeAttributes();
  await change(`${DAMAGE} where type = 'generation'`);
  const damaged = [await rows(), await rows("traces")];
  const count = before.filter(({ type }) => type === "generation").length;
  const dry = await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: true });
  expect(dry).toMatchObject({ changed: count, dryRun: true, fields: { type: count, input: count } });
  expect([await rows(), await rows("traces")]).toEqual(damaged);
  expect(await audited()).toBe(entries);

  const progress: number[] = [];
  const { dryRun: _, ...figures } = await remapSpans(
    await contextOf(),
    { ...ALL_TIME, dryRun: false },
    (logs) => progress.push(logs),
  );
  expect({ ...figures, dryRun: true }).toEqual(dry);
  expect(progress.at(-1)).toBe(before.length);
  expect(await contents()).toEqual(before);
  expect(await audited()).toBe(entries + 1);
  const again = await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: false });
  expect(again).toMatchObject({ changed: 0 });
});

test("a log keeps the name, kind and status of its span where its own differ, and has its own again", async () => {
  const attributes = { "traceloop.entity.name": "plan", "langfuse.observation.level": "ERROR" };
  const traceId = "1af7651916cd43dd8448eb211c80319c";
  const span = toOtlpSpan({ traceId, name: "plan.task", kind: "client", status: "ok", attributes });
  await recordSpans(await contextOf(), [mapSpan(span)]);
  const stored = async () => (await contents()).find(({ name }) => name === "plan");
  const before = await stored();
  expect(jsonOf(before!.attributes)).toEqual({
    ...{ name: "plan.task", kind: "client", status: "ok" },
    span: attributes,
  });
  await change(`update logs set name = 'lost', status = null where id = '${before!.id}'`);
  const result = await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: false });
  expect(result).toMatchObject({ changed: 1, fields: { name: 1, status: 1 } });
  expect(await stored()).toEqual(before);
});

test("what a prompt said of a log stays, whichever version serves by now", async () => {
  const traceId = "2af7651916cd43dd8448eb211c80319c";
  const attributes = { "gabbro.prompt.slug": "moving", "gen_ai.operation.name": "chat" };
  await addPrompt(server, {
    slug: "moving",
    versions: ["1.0.0", "2.0.0"].map((version) => ({ version, model: model("openai", `gpt-${version}`) })),
    tags: { production: "1.0.0" },
  });
  await recordSpans(await contextOf(), [mapSpan(toOtlpSpan({ traceId, attributes }))]);
  const before = (await contents()).filter(({ prompt_slug }) => prompt_slug === "moving");
  expect(before).toMatchObject([{ version: "1.0.0", tag: "production", model: "gpt-1.0.0" }]);
  await publishPrompt(await contextOf(), { slug: "moving", newTag: "production", version: "2.0.0" });
  await change("update logs set type = 'tool' where prompt_slug = 'moving'");
  expect(await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: false })).toMatchObject({ changed: 1 });
  expect((await contents()).filter(({ prompt_slug }) => prompt_slug === "moving")).toEqual(before);
});

test("a version that a span names and the prompt lacks is neither lost nor replaced, however the span came", async () => {
  await addPrompt(server, {
    slug: "moved",
    versions: [{ version: "2", model: model("openai", "gpt-4o") }],
    tags: { production: "2" },
  });
  const spanOf = (traceId: string, attributes: object) => {
    const all = { "gabbro.prompt.slug": "moved", "gen_ai.operation.name": "chat", ...attributes };
    return mapSpan(toOtlpSpan({ traceId, attributes: all }));
  };
  const version = { "gabbro.prompt.version": "1" };
  const tag = { "gabbro.prompt.tag": "gone" };
  const imported = [
    spanOf("5af7651916cd43dd8448eb211c80319c", version),
    spanOf("6af7651916cd43dd8448eb211c80319c", tag),
  ];
  expect((await importSpans(await contextOf(), imported, "real")).added).toBe(2);
  const received = [
    spanOf("7af7651916cd43dd8448eb211c80319c", version),
    spanOf("8af7651916cd43dd8448eb211c80319c", tag),
  ];
  await recordSpans(await contextOf(), received);
  const stored = async () => (await contents()).filter(({ prompt_slug }) => prompt_slug === "moved");
  const before = await stored();
  const found = before.map(({ version, tag, model }) => [version, tag, model]);
  const instead = ["2", "production", "gpt-4o"];
  expect(found.toSorted()).toEqual([[null, "gone", null], ["1", null, null], instead, instead].toSorted());
  expect(await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: true })).toMatchObject({ changed: 0 });
  await change("update logs set type = 'tool' where prompt_slug = 'moved'");
  expect(await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: false })).toMatchObject({ changed: 4 });
  expect(await stored()).toEqual(before);
});

test("logs that came by REST, other periods and other workspaces stay as they are", async () => {
  const { id } = await addWorkspace(server, "other");
  const span = toOtlpSpan({ traceId: "4af7651916cd43dd8448eb211c80319c" });
  await recordSpans(await contextOf(id), [mapSpan(span)]);
  const traced = { name: "t", logs: [{ type: "span", name: "a", id: "b7ad6b7169203331", input: "x" }] };
  expect((await server.post("/monitor/trace", traced)).status).toBeLessThan(300);
  await change(
    "update traces set external_id = '3af7651916cd43dd8448eb211c80319c' where external_id is null",
  );
  await change("update logs set type = 'tool' where type != 'internal'");
  const damaged = await rows();
  const early = { from: new Date("2000-01-01"), to: new Date("2001-01-01"), dryRun: false };
  expect(await remapSpans(await contextOf(), early)).toMatchObject({ examined: 0 });
  expect(await rows()).toEqual(damaged);
  const isTheirs = ({ workspace_id }: Record<string, unknown>) => workspace_id === id;
  await remapSpans(await contextOf(), { ...ALL_TIME, dryRun: false });
  const after = await rows();
  expect(after).toHaveLength(damaged.length);
  expect(after.filter(isTheirs)).toEqual(damaged.filter(isTheirs));
  const isReported = ({ external_id, trace_id }: Record<string, unknown>) =>
    external_id === "b7ad6b7169203331" && String(trace_id)["00000000-0000-".length] === "7";
  expect(damaged.filter(isReported)).toHaveLength(1);
  expect(after.filter(isReported)).toEqual(damaged.filter(isReported));
});

test("mapping again needs the scope admin", async () => {
  const context = await contextOf();
  const reader = { ...context, access: { ...context.access!, scopes: ["read", "write"] as const } };
  await expect(remapSpans(reader as never, { ...ALL_TIME, dryRun: true })).rejects.toMatchObject({
    code: "FORBIDDEN",
  });
});
