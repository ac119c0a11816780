import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";

/** A source file: its path below src/, its text, and what it imports (ours by path below src/, others by name). */
export interface Source {
  path: string;
  text: string;
  imports: { target: string; kind: "value" | "type" }[];
}

export async function readSources(folder: string): Promise<Source[]> {
  const entries = await readdir(folder, { recursive: true });
  const paths = entries.filter((path) => /\.tsx?$/.test(path) && !path.includes("node_modules"));
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

/** Each may import those before it, never those behind it. */
const features = [
  ...["workspaces", "inbox", "files", "datasets", "prompts", "pricing", "logs", "analytics", "console"],
];
/** What the folders beside the features may import, types included; each may import itself and libraries. */
const mayReach: Record<string, string[]> = {
  database: ["context.ts", "errors.ts", "limits", "privateFiles.ts"],
  formats: ["errors.ts", "validation", "datasets", "prompts"],
  importers: ["database", "errors.ts", "formats", "templates", "validation", "datasets", "prompts"],
  graphiql: ["http", "rest", "schema.ts"],
  graphql: [
    ...["context.ts", "requestContext.ts", "errors.ts", "warnings.ts", "schema.ts", "database", "graphiql"],
    ...["http", "limits", "rest", "validation", "workspaces"],
  ],
  metrics: ["database", "http", "workspaces", "inbox"],
  rest: ["database", "errors.ts", "etag.ts", "http", "limits/jsonText.ts", "validation", "workspaces"],
  limits: ["errors.ts"],
  validation: ["errors.ts", "limits/jsonSize.ts", "limits/words.ts"],
  usage: ["limits"],
  templates: ["errors.ts", "limits"],
  http: ["config.ts", "context.ts", "errors.ts", "printable.ts", "limits", "validation"],
};
/** The outermost folders, which only the command line reaches. */
const mayBeReachedFrom: Record<string, string[]> = {
  commands: ["commandLine.ts"],
  importers: ["commands"],
  sample: ["commands"],
};
const parts = ["entities.ts", "inputs.ts", "resolvers.ts", "graphql.ts", "rest.ts"];

/** Every break of the rules of the house in src/, as a sentence. */
export function breaksOfRules(sources: Source[]): string[] {
  return [
    ...sources.flatMap((source) => [
      ...withoutPlace(source),
      ...towardsTheRight(source),
      ...fromInside(source),
      ...beyondItsPart(source),
      ...secondReaders(source),
      ...writesOutsideResolvers(source),
      ...pausesOfItsOwn(source),
      ...shape(source),
    ]),
    ...cycles(sources),
  ];
}

function folderOf(path: string): string {
  return path.includes("/") ? path.split("/")[0]! : "";
}

function withoutPlace({ path }: Source): string[] {
  const folder = folderOf(path);
  const isKnown = [...features, ...Object.keys(mayReach), ...Object.keys(mayBeReachedFrom), ""].includes(
    folder,
  );
  return isKnown ? [] : [`${path} is in ${folder}/, for which there is no rule`];
}

/** Only imports into the outermost folders that come from where they may not. */
function fromInside({ path, imports }: Source): string[] {
  return imports.flatMap(({ target }) => {
    const folder = folderOf(target);
    const reached = mayBeReachedFrom[folder];
    if (
      !reached ||
      folder === folderOf(path) ||
      [path, folderOf(path)].some((from) => reached.includes(from))
    )
      return [];
    return [`${path} imports ${target}; only ${reached.join(", ")} may`];
  });
}

function towardsTheRight({ path, imports }: Source): string[] {
  const folder = features.indexOf(folderOf(path));
  const ours = imports.filter(({ target }) => target.endsWith(".ts"));
  const outside = ours.filter(({ target }) => target.startsWith(".."));
  const right = ours.filter(({ target }) => folder >= 0 && features.indexOf(folderOf(target)) > folder);
  const reach = mayReach[folderOf(path)];
  const beyond = ours.filter(
    ({ target }) =>
      reach &&
      folderOf(target) !== folderOf(path) &&
      !reach.includes(target) &&
      !reach.includes(folderOf(target)),
  );
  return [
    ...right.map(({ target }) => `${path} imports ${target}, which stands to its right`),
    ...beyond.map(({ target }) => `${path} imports ${target}, which ${folderOf(path)}/ may not`),
    ...outside.map(({ target }) => `${path} imports ${target} from outside src`),
  ];
}

/** What each of a feature's five files may import of ours, beside types and what stands at the top of src. */
const mayImport: Record<string, RegExp> = {
  "entities.ts": /(?:^|\/)entities\.ts$|^database\/columnTypes\.ts$/,
  "inputs.ts": /(?:^|[/.])(?:inputs|entities)\.ts$|^validation\/|^limits\/jsonSize\.ts$/,
  "resolvers.ts": /^(?!graphql\/|rest\/|http\/|app\.ts)(?!.*[/.](?:graphql|rest|types)\.ts$)/,
  "graphql.ts":
    /^graphql\/(?:builder|connections|errorCodes|nodes|payloads)\.ts$|^database\/pages\.ts$|(?:^|[/.])(?:entities|inputs|resolvers|graphql|types|selection|tokenParts)\.ts$/,
  "rest.ts":
    /^rest\/(?:errorResponses|eventStream)\.ts$|^warnings\.ts$|^limits\/deadline\.ts$|^validation\/|(?:^|[/.])(?:entities|inputs|resolvers|rest|client)\.ts$/,
};

function beyondItsPart({ path, imports }: Source): string[] {
  const part = parts.find(
    (name) => features.includes(folderOf(path)) && new RegExp(`[/.]${name.replace(".", "\\.")}$`).test(path),
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
    ...(/^database\/(?:sqlite|postgresql)\//.test(path)
      ? []
      : drivers.map(
          ({ target }) =>
            `${path} names the driver ${target}; only database/sqlite/ and database/postgresql/ may`,
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
    ["sample/seed.ts", "sample/sample.ts"].includes(path);
  const writes = /\.(?:commit|insertInto|updateTable|deleteFrom)\(|\bem\.(?:flush|persist)\(/.exec(text)?.[0];
  return writes && !isWriter ? [`${path} writes with ${writes}…); only resolvers do`] : [];
}

/** What may pause for a single turn of the event loop, and why it needs no turn of its workspace. */
const mayPause: Record<string, string> = {
  "workspaces/idempotency.resolvers.ts": "holds a transaction open",
  "prompts/removal.resolvers.ts": "runs once a minute for all workspaces",
};

/** All requests that pause for a turn go on together in the next one: 64 pieces of work of 100 ms in a row. */
function pausesOfItsOwn({ path, text }: Source): string[] {
  const isRequest = ["graphql", "rest", "validation", ...features].includes(folderOf(path));
  const pauses = /\bsetImmediate\b/.test(text);
  return pauses && isRequest && !mayPause[path]
    ? [`${path} pauses for a turn of the event loop; wait for database.turn(workspaceId)`]
    : [];
}

const MAX_FILE_LINES = 250;

/** Files that are too long, or that are not named after what they are for. */
export function shape({ path, text }: Source): string[] {
  const lines = text.split("\n").length - 1;
  return [
    ...(lines > MAX_FILE_LINES && !path.includes("migrations/")
      ? [`${path} has ${lines} lines; at most ${MAX_FILE_LINES}`]
      : []),
    ...(/util|helper|common|misc|manager/i.test(path) ? [`${path} is not named after what it is for`] : []),
  ];
}

/** Circles of imports, those of types and those at run time included. */
export function cycles(sources: Source[]): string[] {
  const next = new Map(sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
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
