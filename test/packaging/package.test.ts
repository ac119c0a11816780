import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { doMainJob, startPackage } from "../../packaging/mainJob.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const TIMEOUT_MS = 120_000;
const MAX_BYTES = 6 * 1024 * 1024;

let folder: string;
let tarball: string;
const unpacked = () => join(folder, "node_modules/gabbro");

/** To make a package takes a quarter of a minute, so that of CI is given. */
const given = process.env.TEST_PACKAGE;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  tarball = given ?? (await pack());
  await mkdir(unpacked(), { recursive: true });
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", unpacked()]);
}, TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function pack(): Promise<string> {
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root });
  return join(folder, stdout.trim());
}

async function filesOf(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1));
}

test("the package has the compiled program, its pages and nothing else, in at most 6 MB", async () => {
  expect((await stat(tarball)).size).toBeLessThan(MAX_BYTES);
  const files = await filesOf(unpacked());
  const allowed =
    /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md|bin\/gabbro\.js|docs\/[\w-]+\.md|docs\/images\/[\w-]+\.(?:svg|png)|packaging\/(?:gabbro\.service|kubernetes\.yaml|nginx\.conf|Caddyfile)|dist\/[\w./-]+\.js|dist\/graphiql\/(?:boot\.css|icon\.svg)|console\/dist\/(?:index\.html|assets\/[\w.-]+\.(?:js|css|svg)(?:\.br|\.gz)?))$/;
  expect(files.filter((file) => !allowed.test(file))).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      "bin/gabbro.js",
      "dist/main.js",
      "LICENSE",
      "docs/getting-started.md",
      "console/dist/index.html",
    ]),
  );
  expect(files.length).toBeGreaterThan(300);
});

test("every module of src is in the package, and none that has gone from it", async () => {
  const modules = (await filesOf(join(root, "src"))).filter((file) => !file.endsWith("schema.json"));
  const compiled = modules.map((file) => join("dist", file.replace(/\.ts$/, ".js")));
  const packed = (await filesOf(unpacked())).filter((file) => file.startsWith("dist/"));
  expect(packed.toSorted()).toEqual(compiled.toSorted());
});

test("no module of the package names a TypeScript file, which Node.js would not load there", async () => {
  const modules = (await filesOf(join(unpacked(), "dist"))).filter((file) => file.endsWith(".js"));
  const texts = await Promise.all(
    modules.map(async (file) => [file, await readFile(join(unpacked(), "dist", file), "utf8")] as const),
  );
  const code = texts.map(([file, text]) => [file, text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "")] as const);
  const naming = code.filter(([, text]) => /["'`/]\S*\.ts["'`]/.test(text)).map(([file]) => file);
  // Both build the console, which happens only where its sources are.
  expect(naming.toSorted()).toEqual(["console/build.js", "console/sources.js"]);
});

test("the package can be published, with provenance", () => {
  expect(packageJson).not.toHaveProperty("private");
  expect(packageJson.publishConfig).toEqual({ access: "public", provenance: true });
});

test("the package does the main job below node_modules, and ends with 0 after SIGTERM", {
  timeout: TIMEOUT_MS,
}, async () => {
  // Its dependencies, without the registry that an installation needs.
  await symlink(join(root, "node_modules"), join(unpacked(), "node_modules"));
  const token = randomUUID();
  const service = await startPackage(process.execPath, join(unpacked(), "bin/gabbro.js"), { folder, token });
  await doMainJob(service.url, token).finally(async () => expect(await service.stop()).toBe(0));
});

test("npm makes a bill of materials that names each dependency", async () => {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
  const { stdout } = await run("npm", args, { cwd: root, maxBuffer: 50_000_000 });
  const { components } = JSON.parse(stdout) as { components: { name: string; group?: string }[] };
  const names = components.map(({ group, name }) => (group ? `${group}/${name}` : name));
  expect(names).toEqual(expect.arrayContaining(Object.keys(packageJson.dependencies)));
});
