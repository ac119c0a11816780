import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";

/** A source file: its path below src/, its text, and what it imports (ours by path below src/, others by name). */
export interface Source {
  path: string;
  text: string;
  imports: { target: string; kind: "value" | "type" }[];
}

export async function readSources(folder: string): Promise<Source[]> {
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith(".ts"));
  return Promise.all(paths.map(async (path) => toSource(path, await readFile(join(folder, path), "utf8"))));
}

export function toSource(path: string, text: string): Source {
  const statements = text.matchAll(
    /^(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"|import\("([^"]+)"\)/gm,
  );
  const imports = [...statements].map(([, type, named, dynamic]) => {
    const name = (named ?? dynamic)!;
    const target = name.startsWith(".") ? normalize(join(dirname(path), name)) : name;
    return { target, kind: type ? ("type" as const) : ("value" as const) };
  });
  return { path, text, imports };
}

const features = ["workspaces", "datasets", "prompts", "monitor"];
const parts = ["entities.ts", "inputs.ts", "resolvers.ts", "graphql.ts", "rest.ts"];

/** Every break of the rules of the house, as a sentence. */
export function breaksOfRules(sources: Source[]): string[] {
  return [
    ...sources.flatMap((source) => [
      ...towardsTheRight(source),
      ...beyondItsPart(source),
      ...secondReaders(source),
      ...writesOutsideResolvers(source),
      ...shape(source),
    ]),
    ...cycles(sources),
  ];
}

function roomOf(path: string): string {
  return path.includes("/") ? path.split("/")[0]! : "";
}

function towardsTheRight({ path, imports }: Source): string[] {
  const room = features.indexOf(roomOf(path));
  const outside = imports.filter(({ target }) => target.startsWith(".."));
  const right = imports.filter(({ target }) => room >= 0 && features.indexOf(roomOf(target)) > room);
  const intoUsage =
    roomOf(path) === "usage"
      ? imports.filter(
          ({ target }) => /^[a-z]+\//i.test(target) && target.endsWith(".ts") && roomOf(target) !== "usage",
        )
      : [];
  return [
    ...[...right, ...intoUsage].map(({ target }) => `${path} imports ${target}, which stands to its right`),
    ...outside
      .filter(({ target }) => !target.endsWith("package.json"))
      .map(({ target }) => `${path} imports ${target} from outside src`),
  ];
}

/** What each of a feature's five files may import of ours, beside types and what stands at the top of src. */
const mayImport: Record<string, RegExp> = {
  "entities.ts": /(?:^|\/)entities\.ts$|^database\/columns\.ts$/,
  "inputs.ts": /(?:^|[/.])inputs\.ts$|^(?:paging|moments)\.ts$/,
  "resolvers.ts": /^(?!graphql\/|rest\/|server\.ts)(?!.*[/.](?:graphql|rest|types)\.ts$)/,
  "graphql.ts": /^graphql\/builder\.ts$|(?:^|[/.])(?:entities|inputs|resolvers|graphql|types|selection)\.ts$/,
  "rest.ts": /^rest\/app\.ts$|(?:^|[/.])(?:entities|inputs|resolvers|rest|paging|deadline)\.ts$/,
};

function beyondItsPart({ path, imports }: Source): string[] {
  const part = parts.find(
    (name) => features.includes(roomOf(path)) && new RegExp(`[/.]${name.replace(".", ".")}$`).test(path),
  );
  if (!part) return [];
  return imports
    .filter(
      ({ target, kind }) => kind === "value" && target.endsWith(".ts") && !mayImport[part]!.test(target),
    )
    .map(({ target }) => `${path} imports ${target}, which ${part} may not`);
}

function secondReaders({ path, text, imports }: Source): string[] {
  const drivers = imports.filter(({ target }) =>
    /^@mikro-orm\/(?:sqlite|postgresql)$|^better-sqlite3$|^pg$/.test(target),
  );
  return [
    ...(/^database\/(?:sqlite|postgresql)\w*\.ts$/.test(path)
      ? []
      : drivers.map(
          ({ target }) =>
            `${path} names the driver ${target}; only database/sqlite*.ts and database/postgresql*.ts may`,
        )),
    ...(path !== "config.ts" && text.includes("process.env")
      ? [`${path} reads the environment; only config.ts may`]
      : []),
  ];
}

function writesOutsideResolvers({ path, text }: Source): string[] {
  const isWriter =
    /[/.]resolvers\.ts$/.test(path) ||
    path.startsWith("database/") ||
    ["firstStart.ts", "sample/sample.ts"].includes(path);
  const writes = /\.(?:commit|insertInto|updateTable|deleteFrom)\(|\bem\.(?:flush|persist)\(/.exec(text)?.[0];
  return writes && !isWriter ? [`${path} writes with ${writes}…); only resolvers do`] : [];
}

const LONGEST_FILE = 250;

function shape({ path, text }: Source): string[] {
  const lines = text.split("\n").length - 1;
  return [
    ...(lines > LONGEST_FILE && !path.includes("migrations/")
      ? [`${path} has ${lines} lines; at most ${LONGEST_FILE}`]
      : []),
    ...(/util|helper|common|misc|manager/i.test(path) ? [`${path} is not named after what it is for`] : []),
  ];
}

function cycles(sources: Source[]): string[] {
  const next = new Map(
    sources.map(({ path, imports }) => [
      path,
      imports.filter(({ kind }) => kind === "value").map(({ target }) => target),
    ]),
  );
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: string[]) => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (way.includes(path) || done.has(path)) return;
    for (const target of next.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  return found.map((cycle) => `the imports go in a circle: ${cycle}`);
}
