import { sql } from "kysely";
import type { Context } from "../context.ts";
import { createProtectedTagsLoader, sortByLabel } from "../database/labels.ts";
import { inTurn, lengthOf, type RowLength, readByLength, readLists } from "../database/lengths.ts";
import { createFinder, createLoader, once } from "../database/loader.ts";
import { inPage, type Page } from "../database/pages.ts";
import { parseStored } from "../limits/answerBudget.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { readVersions, versionRemoved } from "./cached.resolvers.ts";
import type { PromptTagMove, PromptVersion } from "./entities.ts";
import { type NamedVersion, PRODUCTION } from "./selection.ts";

// Loaders of the parts of many prompts at once. They cache nothing, as a mutation of the same request may change the parts.

/** A tag with the version that it points to. */
interface NamedTag {
  id: string;
  label: string;
  version: string;
  versionId: string;
}

type OfPrompt<Part> = (context: Context, promptId: string) => Promise<Part>;

/** All versions of a prompt, the oldest first. */
export const versionsOf: OfPrompt<NamedVersion[]> = createLoader((context, ids) => {
  const workspaceId = authorize(context, "read");
  return readLists(context, ids, (piece) => readVersions(context.database, workspaceId, piece));
});

/** A page of the versions of a prompt, the oldest first. */
export function versionPage(context: Context, promptId: string, page: Page): Promise<NamedVersion[]> {
  const versions = context.database.read
    .selectFrom("PromptVersion")
    .select(["id", "version"])
    .where("workspace", "=", authorize(context, "read"))
    .where("prompt", "=", promptId);
  return inTurn(context, () => inPage(versions, "id", page).execute());
}

const moveColumns = ["id", "label", "from", "to", "tokenName", "createdAt"] as const;
export type TagMove = Pick<PromptTagMove, (typeof moveColumns)[number]>;

/** A page of the moves of a prompt's tags, the latest first. */
export function tagHistoryPage(context: Context, promptId: string, page: Page): Promise<TagMove[]> {
  const moves = context.database.read
    .selectFrom("PromptTagMove")
    .select(moveColumns)
    .where("workspace", "=", authorize(context, "read"))
    .where("prompt", "=", promptId);
  return inTurn(context, () => inPage(moves, "id", page, "desc").execute());
}

/** The tags of a prompt, by name, with the version that each points to; without `latest`. */
export const tagsOf: OfPrompt<NamedTag[]> = createLoader(async (context, ids) => {
  const workspaceId = authorize(context, "read");
  const { read, rows } = context.database;
  const lists = await readLists(context, ids, ({ parents, after, limit }) => {
    let query = read
      .selectFrom("PromptTag")
      .innerJoin("PromptVersion", "PromptVersion.id", "PromptTag.version")
      .select(["PromptTag.prompt as parent", "PromptTag.id as id", "PromptTag.label as label"])
      .select(["PromptTag.version as versionId", "PromptVersion.version as version"])
      .where("PromptTag.workspace", "=", workspaceId)
      .where("PromptVersion.workspace", "=", workspaceId)
      .where("PromptTag.prompt", "in", parents)
      .limit(limit);
    if (parents.length === 1) query = query.orderBy("PromptTag.id");
    if (after !== null) query = query.where("PromptTag.id", ">", after);
    return rows(query);
  });
  return sortByLabel(context, lists);
});

/** The protected tags of a prompt, by name. */
export const protectedTagsOf: OfPrompt<string[]> = createProtectedTagsLoader("Prompt", (context) =>
  authorize(context, "read"),
);

// Looked for once for all fields of a prompt: 9,000 among 1,000 tags took 0.25 s.
const productionTag = once((tags: NamedTag[]) => tags.find(({ label }) => label === PRODUCTION));

/** The version of a prompt with the tag `production`; null when there is none. */
export async function productionVersionOf(context: Context, promptId: string): Promise<NamedVersion | null> {
  const tag = productionTag(await tagsOf(context, promptId));
  return tag ? { id: tag.versionId, version: tag.version } : null;
}

/** The newest version of a prompt; null when it has none. */
export const newestVersionOf: OfPrompt<NamedVersion | null> = createLoader(async (context, ids) => {
  const workspaceId = authorize(context, "read");
  const { read } = context.database;
  const versions = await read
    .selectFrom("Prompt")
    .innerJoin("PromptVersion", (join) =>
      join.on("PromptVersion.id", "=", ({ selectFrom }) =>
        selectFrom("PromptVersion as Other")
          .select("Other.id")
          .where("Other.workspace", "=", workspaceId)
          .whereRef("Other.prompt", "=", "Prompt.id")
          .orderBy("Other.id", "desc")
          .limit(1),
      ),
    )
    .select(["PromptVersion.prompt", "PromptVersion.id", "PromptVersion.version"])
    .where("PromptVersion.workspace", "=", workspaceId)
    .where("Prompt.workspace", "=", workspaceId)
    .where("Prompt.id", "in", ids)
    .execute();
  const byPrompt = new Map(versions.map(({ prompt, ...version }) => [prompt, version]));
  return ids.map((id) => byPrompt.get(id) ?? null);
});

/** The version with that id; null when the workspace has none. */
export const findVersionById: (context: Context, id: string) => Promise<NamedVersion | null> = createFinder(
  async (context, ids) => {
    const workspaceId = authorize(context, "read");
    return context.database.read
      .selectFrom("PromptVersion")
      .innerJoin("Prompt", "Prompt.id", "PromptVersion.prompt")
      .select(["PromptVersion.id", "PromptVersion.version"])
      .where("PromptVersion.workspace", "=", workspaceId)
      .where("Prompt.workspace", "=", workspaceId)
      .where("Prompt.deletedAt", "is", null)
      .where("PromptVersion.id", "in", ids)
      .execute();
  },
);

/** The tag with that id; null when the workspace has none. */
export const findPromptTag: (
  context: Context,
  id: string,
) => Promise<{ id: string; label: string; version: string } | null> = createFinder(async (context, ids) => {
  const workspaceId = authorize(context, "read");
  return context.database.read
    .selectFrom("PromptTag")
    .innerJoin("PromptVersion", "PromptVersion.id", "PromptTag.version")
    .innerJoin("Prompt", "Prompt.id", "PromptTag.prompt")
    .select(["PromptTag.id", "PromptTag.label", "PromptVersion.version"])
    .where("PromptTag.workspace", "=", workspaceId)
    .where("PromptVersion.workspace", "=", workspaceId)
    .where("Prompt.workspace", "=", workspaceId)
    .where("Prompt.deletedAt", "is", null)
    .where("PromptTag.id", "in", ids)
    .execute();
});

/** The move of a tag with that id; null when the workspace has none. */
export const findPromptTagMove: (context: Context, id: string) => Promise<TagMove | null> = createFinder(
  async (context, ids) => {
    const workspaceId = authorize(context, "read");
    return context.database.read
      .selectFrom("PromptTagMove")
      .innerJoin("Prompt", "Prompt.id", "PromptTagMove.prompt")
      .select(moveColumns.map((column) => `PromptTagMove.${column}` as const))
      .where("PromptTagMove.workspace", "=", workspaceId)
      .where("Prompt.workspace", "=", workspaceId)
      .where("Prompt.deletedAt", "is", null)
      .where("PromptTagMove.id", "in", ids)
      .execute();
  },
);

const MAX_NAMES_IN_STATEMENT = 100;

/** The version with the key `PROMPT_ID NAME`; null when there is none. */
export const versionNamed: (context: Context, key: `${string} ${string}`) => Promise<NamedVersion | null> =
  createLoader(async (context, keys) => {
    const byKey = new Map<string, NamedVersion>();
    for (let from = 0; from < keys.length; from += MAX_NAMES_IN_STATEMENT) {
      const batch = keys.slice(from, from + MAX_NAMES_IN_STATEMENT);
      const versions = await context.database.read
        .selectFrom("PromptVersion")
        .select(["prompt", "id", "version"])
        .where("workspace", "=", authorize(context, "read"))
        .where(({ or, and }) =>
          or(
            batch.map((key) => {
              const space = key.indexOf(" ");
              return and({ prompt: key.slice(0, space), version: key.slice(space + 1) });
            }),
          ),
        )
        .execute();
      for (const { prompt, id, version } of versions) byKey.set(`${prompt} ${version}`, { id, version });
    }
    return keys.map((key) => byKey.get(key) ?? null);
  });

/** The columns of a version beside its name, in the order in which the table has them; all but the first may be long. */
const CONTENTS = ["createdAt", "source", "model", "variables", "messages", "systemText", "text"] as const;
type Content = Pick<PromptVersion, (typeof CONTENTS)[number]>;
/** A version, with its content when it was just created. */
export type VersionRecord = NamedVersion & Partial<Content>;

const JSON_CONTENTS = ["messages", "model", "variables", "source"];

type Stored = { id: string } & Record<string, unknown>;

/** Resolves one column of versions, in one batch for all versions of an answer. */
export function contentColumn<Column extends keyof Content>(column: Column) {
  const isJson = JSON_CONTENTS.includes(column);
  const load = createLoader<string, Content[Column]>(async (context, ids) => {
    const versions = (some: string[]) =>
      context.database.read
        .selectFrom("PromptVersion")
        .where("workspace", "=", authenticated(context).workspaceId)
        .where("id", "in", some);
    const bytes = column === "createdAt" ? sql.lit(0) : lengthOf(column);
    const before = CONTENTS.slice(1, CONTENTS.indexOf(column)).map(lengthOf);
    const measure = (some: string[]) =>
      versions(some)
        .select(["id", bytes.as("bytes")])
        .select(sql<number>`${sql.join([bytes, ...before], sql` + `)}`.as("passedBytes"))
        .$castTo<RowLength>()
        .execute();
    // JSON as text: 60 models of 220 kB with as many members took 4.5 s to parse, in turns of 0.4 s.
    const read = (some: string[]) =>
      isJson
        ? context.database.rows(
            versions(some)
              .select(["id as id", `${column} as ${column}`])
              .$castTo<Stored>(),
          )
        : versions(some).select(["id", column]).$castTo<Stored>().execute();
    const parse = (row: Stored): Stored =>
      isJson && row[column] !== null
        ? { ...row, [column]: parseStored(context, row[column] as string) }
        : row;
    const rows = await readByLength(context, ids, { measure, read, parse });
    return ids.map((id) => {
      const version = rows.get(id);
      return version ? (version[column] as Content[Column]) : versionRemoved();
    });
  });
  return (version: VersionRecord, _: unknown, context: Context): Content[Column] | Promise<Content[Column]> =>
    (version[column] as Content[Column] | undefined) ?? load(context, version.id);
}
