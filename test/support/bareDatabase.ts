import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOnPostgresql, newPostgresqlDatabase } from "./server.ts";

/** A place for a database of the tests' own in which nothing is yet, for programs that make it. */
export async function newDatabase() {
  const own = isOnPostgresql ? await newPostgresqlDatabase("bare") : null;
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  return {
    databaseUrl: own?.url ?? `sqlite:${join(folder, "gabbro.sqlite")}`,
    async [Symbol.asyncDispose]() {
      await own?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
