import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway } from "../../faults/gateway.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { readSources } from "../support/sources.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** In place of the build, which takes seconds. Its page says how often it was built. */
const QUICK_BUILD = `import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
mkdirSync("dist/assets", { recursive: true });
appendFileSync("dist/builds", "I");
writeFileSync("dist/index.html", "built " + readFileSync("dist/builds", "utf8"));`;

/** A clone after `npm ci --ignore-scripts`. One serves all tests: each start in a new folder compiles the whole service. */
async function makeClone() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-clone-"));
  const filter = (path: string) => !/\/console\/(?:node_modules|dist[^/]*|src\/gql)$/.test(path);
  for (const name of ["bin", "src", "package.json", "schema.graphql", "tsconfig.json", "console"])
    await cp(join(root, name), join(folder, name), { recursive: true, preserveTimestamps: true, filter });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const at = (path: string) => join(folder, path);
  return {
    at,
    /** Leaves nothing that was built, and the packages of the console or none. */
    reset: async ({ build = QUICK_BUILD, packages = true }: { build?: string; packages?: boolean }) => {
      for (const path of ["console/dist", "console/node_modules"])
        await rm(at(path), { recursive: true, force: true });
      if (packages) await symlink(join(root, "console/node_modules"), at("console/node_modules"));
      if (build === "real") await cp(join(root, "console/build.ts"), at("console/build.ts"));
      else await writeFile(at("console/build.ts"), build);
    },
    /** Starts the service, and gives the page of the console with its files, and what was logged about it. */
    start: async (env: Record<string, string> = {}) => {
      await using database = await newDatabase();
      const gateway = await startGateway({
        ...{ ...database, program: join(folder, "bin/gabbro.js") },
        env: { LOG_LEVEL: "info", ...env },
      });
      const get = (path: string) => fetch(gateway.url + path, { headers: { accept: "text/html" } });
      const page = await (await get("/console")).text();
      const paths = page.match(/\/console\/assets\/[\w.-]+/g) ?? [];
      const files = await Promise.all(paths.map(async (path) => (await get(path)).status));
      await gateway.stop(); // writes the last lines
      const lines = gateway.said().matchAll(/^{.*}$/gm);
      const logged = [...lines].map(([line]): string => JSON.parse(line).msg);
      return { page, files, logged: logged.filter((message) => message.includes("the console")) };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

let clone: Awaited<ReturnType<typeof makeClone>>;
beforeAll(async () => {
  clone = await makeClone();
});
afterAll(() => clone.remove());

const BUILDING = expect.stringContaining("building the console, which takes some seconds");
const INSTALL = "run npm ci --prefix console && npm run console";
const edit = async (path: string) => writeFile(path, `${await readFile(path, "utf8")}\n`);

test("services that start at once build a missing console into one folder, each a whole one, and later starts none", async () => {
  await clone.reset({ build: "real" });
  const starts = await Promise.all([clone.start(), clone.start()]);
  for (const { page, files, logged } of starts) {
    expect(logged).toEqual([BUILDING]);
    expect(page).toContain("<title>Gabbro</title>");
    expect(files.length).toBeGreaterThan(2);
    expect(new Set(files)).toEqual(new Set([200]));
  }
  const names = await readdir(clone.at("console"));
  expect(names.filter((name) => name.startsWith("dist"))).toEqual(["dist"]);
  expect(await clone.start()).toMatchObject({ page: starts[0]!.page, logged: [] });
});

describe("a start", () => {
  test("builds the console again when a source has changed since, and serves the one it has where that fails", async () => {
    await clone.reset({});
    expect(await clone.start()).toMatchObject({ page: "built I", logged: [BUILDING] });
    await edit(clone.at("console/src/main.tsx"));
    expect(await clone.start()).toMatchObject({ page: "built II", logged: [BUILDING] });
    expect(await clone.start()).toMatchObject({ page: "built II", logged: [] });
    await writeFile(clone.at("console/build.ts"), 'throw new Error("out of chalk");');
    const { page, logged } = await clone.start();
    expect(page).toBe("built II");
    expect(logged).toEqual([BUILDING, expect.stringMatching(`cannot build .*${INSTALL}[^]*out of chalk`)]);
  });

  test("fetches nothing where the packages of the console are missing, and says what to run", async () => {
    await clone.reset({ packages: false });
    const { page, logged } = await clone.start();
    expect(page).toContain("ROUTE_NOT_FOUND");
    expect(logged).toEqual([expect.stringMatching(`the console is not built.*${INSTALL}`)]);
    await mkdir(clone.at("console/dist/assets"), { recursive: true });
    await writeFile(clone.at("console/dist/index.html"), "an old one");
    await edit(clone.at("console/src/main.tsx"));
    const later = await clone.start();
    expect(later.page).toBe("an old one");
    expect(later.logged).toEqual([expect.stringMatching(`older than its sources.*${INSTALL}`)]);
  });

  test.each<Record<string, string>>([{ CONSOLE: "false" }, { npm_lifecycle_event: "dev" }])(
    "builds none with %o",
    async (env) => {
      await clone.reset({});
      await clone.start(env);
      expect(await readdir(clone.at("console"))).not.toContain("dist");
    },
  );
});

test("the files outside of the console that it imports are among those whose changes make a start build it", async () => {
  const compared = await readFile(join(root, "src/console/sources.ts"), "utf8");
  const service = new Map((await readSources(join(root, "src"))).map((source) => [source.path, source]));
  const found = new Set<string>();
  const follow = (path: string) => {
    if (!service.has(path) || found.has(path)) return;
    found.add(path);
    for (const { target, kind } of service.get(path)!.imports) if (kind === "value") follow(target);
  };
  const own = await readSources(join(root, "console/src"));
  for (const { target } of own.flatMap(({ imports }) => imports)) follow(target.replace("../../src/", ""));
  expect(found.size).toBeGreaterThan(0);
  expect([...found].filter((path) => !compared.includes(`"src/${path}"`))).toEqual([]);
});
