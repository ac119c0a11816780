import { copyFile, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { createApp } from "../../src/app.ts";
import { restore as restoreBackup } from "../../src/database/backup.ts";
import { migrate, migrateWithBackup } from "../../src/database/migrate.ts";
import { type Database, openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { execute } from "../support/postgresSetup.ts";
import { TOKEN } from "../support/releases/questions.ts";
import { isOnPostgresql } from "../support/server.ts";

const folder = new URL("../support/releases/", import.meta.url);
const kind = isOnPostgresql ? "postgresql" : "sqlite";
const changelog = await readFile(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
const released = [...changelog.matchAll(/^## \[?(\d+\.\d+\.\d+)/gm)]
  .map(([, version]) => version!)
  .filter((version) => version !== packageJson.version);

interface Recorded {
  /** The file of SQLite as base64. */
  file: string;
  /** What makes the database of PostgreSQL. */
  statements: string[];
  /** What the release answered, by path or query. */
  answers: Record<string, unknown>;
}

/** Makes the database that a release left. */
async function restore(databaseUrl: string, { file, statements }: Recorded): Promise<void> {
  if (isOnPostgresql) await execute(databaseUrl, statements.join(";\n"));
  else await writeFile(databaseUrl.replace("sqlite:", ""), Buffer.from(file, "base64"));
}

/** What the present service answers. */
async function answersOf(database: Database, questions: string[]): Promise<Record<string, unknown>> {
  const app = await createApp(database, { corsOrigins: [] }, false);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answers: Record<string, unknown> = {};
  for (const question of questions) {
    const request = question.startsWith("/")
      ? ({ method: "GET", url: question } as const)
      : ({ method: "POST", url: "/graphql", payload: { query: question } } as const);
    answers[question] = (await app.inject({ ...request, headers })).json();
  }
  await app.close();
  return answers;
}

test("every release but this one has left its databases here", async () => {
  expect(released.length).toBeGreaterThan(0);
  const files = (await readdir(folder)).filter((name) => name.endsWith(`.${kind}.json.gz`));
  expect(files).toEqual(expect.arrayContaining(released.map((version) => `${version}.${kind}.json.gz`)));
});

test.each(released)(
  "the database that %s left is copied, migrated, and answers as it did there",
  async (version) => {
    const packed = await readFile(new URL(`${version}.${kind}.json.gz`, folder));
    const recorded: Recorded = JSON.parse(gunzipSync(packed).toString());
    await using place = await newDatabase();
    await restore(place.databaseUrl, recorded);
    const database = await openDatabase(place.databaseUrl, entities);
    const { applied, backup } = await migrateWithBackup(database);
    expect(await answersOf(database, Object.keys(recorded.answers))).toMatchObject(recorded.answers);
    await database.close();
    if (applied.length === 0) expect(backup).toBeNull();
    else await expectRelease(place.databaseUrl, { backup: backup!, applied, answers: recorded.answers });
  },
);

/** The copy is the database before the upgrade: it lacks the migrations, and has all that the release had. */
async function expectRelease(
  url: string,
  { backup, applied, answers }: { backup: string; applied: string[]; answers: Recorded["answers"] },
): Promise<void> {
  const place = isOnPostgresql ? await restoreSchema(url, backup) : await copyOf(backup);
  const database = await openDatabase(place, entities);
  expect((await database.orm.migrator.getPending()).map(({ name }) => name)).toEqual(applied);
  await migrate(database);
  expect(await answersOf(database, Object.keys(answers))).toMatchObject(answers);
  await database.close();
}

async function copyOf(backup: string): Promise<string> {
  const copy = join(await mkdtemp(join(tmpdir(), "gabbro-")), "restored.sqlite");
  await copyFile(backup, copy);
  return `sqlite:${copy}`;
}

/** As docs/operations.md says. */
async function restoreSchema(url: string, backup: string): Promise<string> {
  await expect(restoreBackup(backup, url, entities)).rejects.toThrow("There is a database already");
  await execute(url, "alter schema public rename to newer; create schema public");
  await restoreBackup(backup, url, entities);
  return url;
}
