import { copyFile, mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { inject, vi } from "vitest";
import { type AppOptions, createApp } from "../../src/app.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { seedDatabase } from "../../src/sample/seed.ts";
import { checkErrorsAreNamed } from "./errorCodes.ts";
import { execute, NEW_DATABASE, urlOf } from "./postgresSetup.ts";

export interface Options extends Partial<AppOptions> {
  /** Whether the database has the sample that the program comes with. */
  sample?: boolean;
  /** Receives what the server logs, line by line. */
  log?: (line: string) => void;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape
  body: any;
}

type Call = { token?: string | null; headers?: Record<string, string> };

/** What another process did is seen at once on SQLite, and soon on PostgreSQL. */
export const heard = async (check: () => Promise<void>): Promise<void> =>
  isOnPostgresql ? vi.waitFor(check, 30_000) : check();

export const isOnPostgresql = inject("postgresql") !== null;

/** A database of the test's own on PostgreSQL, migrated or not. */
export async function newPostgresqlDatabase(schema: "migrated" | "bare" = "migrated") {
  const { url, template } = inject("postgresql")!;
  const name = `gabbro_${uuidv7().replaceAll("-", "")}`;
  const source = schema === "migrated" ? template : NEW_DATABASE;
  await execute(url, `create database ${name} template ${source}`);
  return {
    url: urlOf(url, name),
    drop: async () => void (await execute(url, `drop database if exists ${name} with (force)`)),
  };
}

/** A whole server of the test's own, on an empty database of its own and a free port; gone when the test ends. */
export async function startServer({ sample = false, log, ...settings }: Options = {}) {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const own = isOnPostgresql ? await newPostgresqlDatabase() : null;
  const file = join(folder, "gabbro.sqlite");
  const databaseUrl = own?.url ?? `sqlite:${file}`;
  const migratedFile = inject("migratedFile");
  if (!own && migratedFile) await copyFile(migratedFile, file);
  const database = await openDatabase(databaseUrl, entities, { poolSize: 5 });
  if (!own && !migratedFile) await migrate(database);
  const seeded = await seedDatabase(database, {
    firstToken: null,
    sample: sample ? "with sample" : "empty",
  });
  const logger = log ? { level: "trace", stream: { write: log } } : false;
  const app = await createApp(database, { corsOrigins: [], ...settings }, logger);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { token } = seeded!;

  const request = async (method: string, path: string, body?: unknown, call: Call = {}): Promise<Answer> => {
    const authorization = call.token === undefined ? token : call.token;
    await nextTurn(); // what comes over a network has a turn of the event loop of its own
    const response = await app.inject({
      method: method as "GET",
      url: path,
      headers: {
        ...(authorization !== null && { authorization: `Bearer ${authorization}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...call.headers,
      },
      ...(body !== undefined && {
        payload: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    });
    const isJson = response.body !== "" && response.headers["content-type"]?.toString().includes("json");
    const answer = isJson ? response.json() : response.body;
    const { query } = ((path === "/graphql" && typeof body === "object" && body) || {}) as {
      query?: unknown;
    };
    if (query && answer.errors) checkErrorsAreNamed(query, answer.errors);
    return { status: response.statusCode, headers: response.headers, body: answer };
  };

  return {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    folder,
    databaseUrl,
    token,
    app,
    database,
    request,
    get: (path: string, call?: Call) => request("GET", path, undefined, call),
    post: (path: string, body: unknown, call?: Call) => request("POST", path, body, call),
    /** Runs an operation and gives the whole answer. */
    graphql: (query: string, variables?: Record<string, unknown>, call?: Call) =>
      request("POST", "/graphql", { query, variables }, call),
    /** Runs an operation and gives its only field, with pages as lists and payloads as what changed; or its first error. */
    // biome-ignore lint/suspicious/noExplicitAny: a field may have any shape
    run: async (operation: string, variables?: Record<string, unknown>, as?: string): Promise<any> => {
      const { body } = await request(
        "POST",
        "/graphql",
        { query: operation, variables },
        as === undefined ? {} : { token: as },
      );
      if (!body.errors) return changed(pagesAsLists(Object.values(body.data)[0]));
      const [{ message, extensions }] = body.errors;
      return { error: { message, ...extensions } };
    },
    async [Symbol.asyncDispose]() {
      await app.close();
      await own?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Replaces a payload of which nothing but what changed was selected. */
function changed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const [only, ...others] = Object.entries(value);
  const isChanged = /^(dataset|prompt|promptTag|modelPrice|protectedTags|deleted\w+Id)$/;
  return only && others.length === 0 && isChanged.test(only[0]) ? only[1] : value;
}

/** Replaces pages of which nothing but the nodes was selected. */
export function pagesAsLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pagesAsLists);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, pagesAsLists(one)] as const);
  const [only, ...others] = entries;
  return only?.[0] === "nodes" && others.length === 0 ? only[1] : Object.fromEntries(entries);
}

export type Server = Awaited<ReturnType<typeof startServer>>;
