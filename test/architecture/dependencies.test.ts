import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import consoleLock from "../../console/package-lock.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { readSources } from "../support/sources.ts";

interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  dependencies?: Record<string, string>;
}

const packages = Object.entries(lock.packages as Record<string, Locked>).filter(([path]) => path !== "");
const named = { ...packageJson.dependencies, ...packageJson.optionalDependencies };
const page = await readFile(new URL("../../docs/dependencies.md", import.meta.url), "utf8");
const listed = [...page.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)].map(
  ([, name, licence, why]) => ({
    name: name!,
    licence: licence!,
    why: why!,
  }),
);

/** What the package says of itself; those for other machines are only in the lock. */
async function licenceOf(name: string): Promise<string | undefined> {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  const text = await readFile(file, "utf8").catch(() => null);
  return text === null
    ? (lock.packages as Record<string, Locked>)[`node_modules/${name}`]?.license
    : JSON.parse(text).license;
}

test("docs/dependencies.md lists every production dependency with its licence and a reason, and no other", async () => {
  expect(listed.map(({ name }) => name).toSorted()).toEqual(Object.keys(named).toSorted());
  for (const { name, licence, why } of listed) {
    expect(`${name} ${licence}`).toBe(`${name} ${await licenceOf(name)}`);
    expect(why.length, name).toBeGreaterThan(5);
  }
});

test("docs/dependencies.md counts the production dependencies and names all their licences", () => {
  const needed = packages.filter(([, { dev, optional, devOptional }]) => !dev && !optional && !devOptional);
  expect(page).toContain(
    `Of ${Object.keys(named).length} packages that Gabbro names and ${needed.length} that it needs`,
  );
  const licences = new Set(needed.map(([, { license }]) => license!));
  const [, listed] = /Licences of all of them: ([^\n]*)\.\n/.exec(page)!;
  expect(listed!.split(", ").toSorted()).toEqual([...licences].toSorted());
});

test("all versions are exact, and the lock has the same", () => {
  const all: Record<string, string> = { ...named, ...packageJson.devDependencies };
  for (const [name, version] of Object.entries(all)) {
    expect(version, name).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
    expect((lock.packages as Record<string, Locked>)[`node_modules/${name}`]?.version, name).toBe(version);
  }
});

test("no production dependency runs a script when it is installed", () => {
  const scripted = packages.filter(([, entry]) => "hasInstallScript" in entry && !entry.dev);
  expect(scripted.map(([path]) => path)).toEqual([]);
});

/** What may be passed on with Gabbro, under no condition but to name its authors. */
const ALLOWED = [
  ...["MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "Apache-2.0", "Unlicense"],
];
/** Licences of tools, which are not passed on. */
const ALLOWED_FOR_TOOLS = [...ALLOWED, "MIT OR Apache-2.0", "MPL-2.0", "(MIT AND Zlib)"];

test("every package has a licence of the allow-list, and that of what is passed on is permissive", () => {
  const refused = packages.filter(([, { license = "none", dev, devOptional }]) => {
    const allowed = dev || devOptional ? ALLOWED_FOR_TOOLS : ALLOWED;
    return !allowed.includes(license);
  });
  expect(refused.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
});

test("so has every package of the console, and that of what becomes part of its files is permissive", async () => {
  const ofConsole = Object.entries(consoleLock.packages as Record<string, Locked>);
  const entriesOf = (name: string) => ofConsole.filter(([path]) => path.endsWith(`node_modules/${name}`));
  const licences = (entries: [string, Locked][]) =>
    entries.map(([path, { license = "none" }]) => `${path}: ${license}`);
  const tools = ofConsole.filter(
    ([path, { license = "none" }]) => path && !ALLOWED_FOR_TOOLS.includes(license),
  );
  expect(licences(tools)).toEqual([]);

  const sources = await readSources(fileURLToPath(new URL("../../console/src", import.meta.url)));
  const imported = sources.flatMap(({ imports }) => imports.filter(({ kind }) => kind === "value"));
  const packed = new Set(imported.map(({ target }) => /^(?:@[^/]+\/)?[^/]+/.exec(target)![0]));
  for (const name of packed)
    for (const [, { dependencies = {} }] of entriesOf(name))
      for (const each of Object.keys(dependencies)) packed.add(each);
  const entries = [...packed].flatMap(entriesOf);
  expect(entries.length).toBeGreaterThan(10);
  expect(licences(entries.filter(([, { license = "none" }]) => !ALLOWED.includes(license)))).toEqual([]);
});
