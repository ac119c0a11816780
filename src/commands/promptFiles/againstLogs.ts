import type { Context } from "../../context.ts";
import { GabbroError, quoted } from "../../errors.ts";
import type { Log } from "../../logs/entities.ts";
import { logFilter } from "../../logs/filter.inputs.ts";
import { type Found, keyOf, logs } from "../../logs/listing.resolvers.ts";
import { logPayload } from "../../logs/payloads.resolvers.ts";
import { templatesOf } from "../../prompts/authoring.resolvers.ts";
import type { PromptContent } from "../../prompts/content.resolvers.ts";
import { PRODUCTION } from "../../prompts/selection.ts";
import { renderTemplates } from "../../templates/templates.ts";
import { authorize } from "../../workspaces/resolvers.ts";
import { readUpTo } from "../pages.ts";
import type { PlannedPrompt } from "./promptFolder.ts";
import { contentFor } from "./promptPlan.ts";

type VersionContent = PromptContent["versions"][number];

/** What a new version makes of the variables of a prompt's last logs. */
export interface Comparison {
  slug: string;
  /** The version of the files. */
  version: string;
  /** The logs that have variables. */
  logs: number;
  withoutVariables: number;
  /** Logs whose rendering differs from that of the version that they were made with. */
  changed: number;
  /** Logs whose variables the version cannot be rendered with, and the first of them. */
  failed: number;
  firstFailed: string | null;
  /** How many of the logs have no value for a variable of the version. */
  empty: Record<string, number>;
}

/** Renders the version that the files bring into use with the variables of the last logs; null when they bring none. */
export async function compareWithLogs(
  context: Context,
  prompt: PlannedPrompt,
  limit: number,
): Promise<Comparison | null> {
  const { stored } = prompt;
  const fresh = versionInUse(prompt);
  if (!stored || !fresh) return null;
  const { slug } = stored;
  const filter = logFilter.parse({ slug: [slug] });
  const { entries } = await readUpTo<Found<Log>>(limit, ({ limit, after }) =>
    logs(context, { filter, limit, after: after && keyOf(after.place) }),
  );
  const result: Comparison = {
    ...{
      slug,
      version: fresh.version,
      logs: 0,
      withoutVariables: 0,
      changed: 0,
      failed: 0,
      firstFailed: null,
    },
    empty: {},
  };
  for (const { entity } of entries)
    if (entity) await compareWithLog(context, { entity, fresh, stored, result });
  return result;
}

/** The version of the files that production would serve after a push; else the last one that is new or differs. */
function versionInUse({ file, stored, conflicts }: PlannedPrompt): VersionContent | null {
  const inFile = new Map(file.versions?.map((input) => [input.version, input]));
  const production = file.tags?.get(PRODUCTION);
  const isMoved = production !== undefined && production !== stored?.tags.get(PRODUCTION);
  const differing = new Set(conflicts.map(({ version }) => version));
  const isFresh = (version: string) =>
    differing.has(version) || !stored?.versions.some((each) => each.version === version);
  const name = isMoved ? production : [...inFile.keys()].findLast(isFresh);
  if (name === undefined) return null;
  const input = inFile.get(name);
  if (!input) return stored?.versions.find(({ version }) => version === name) ?? null;
  return contentFor(input, () => {}); // its errors are reported before
}

interface Case {
  entity: Log;
  fresh: VersionContent;
  stored: PromptContent;
  result: Comparison;
}

async function compareWithLog(context: Context, { entity, fresh, stored, result }: Case): Promise<void> {
  const variables = await logPayload(context, entity, "variables");
  if (!variables) {
    result.withoutVariables++;
    return;
  }
  result.logs++;
  const values = Object.fromEntries(variables.map(({ label, value }) => [label, value ?? ""]));
  const after = await render(context, fresh, values);
  if (!after) {
    result.failed++;
    result.firstFailed ??= entity.id;
    return;
  }
  for (const name of after.names)
    if (!Object.hasOwn(values, name) || values[name] === "")
      result.empty[name] = (result.empty[name] ?? 0) + 1;
  const before = await render(context, versionOf(entity, stored), values);
  if (before?.text !== after.text) result.changed++;
}

/** The version that a log was made with; the one that serves now when it names none that is there. */
function versionOf({ version }: Log, { versions, tags }: PromptContent): VersionContent | undefined {
  const named = (name: string | null | undefined) => versions.find((each) => each.version === name);
  return named(version) ?? named(tags.get(PRODUCTION)) ?? versions.at(-1);
}

/** Null when there is nothing to render, or the version cannot be rendered with these values. */
async function render(
  context: Context,
  version: VersionContent | undefined,
  values: Record<string, string>,
): Promise<{ text: string; names: Set<string> } | null> {
  if (!version) return null;
  try {
    const templates = templatesOf(version);
    const { results, names } = await renderTemplates(authorize(context, "read"), templates, values);
    const roles = version.messages?.map((one) => ("placeholder" in one ? one.placeholder : one.role));
    return {
      text: JSON.stringify([results, templates.map(({ path }) => path), roles]),
      names: new Set(names.flat()),
    };
  } catch (error) {
    if (error instanceof GabbroError && error.code === "BAD_INPUT") return null;
    throw error;
  }
}

/** A comparison in lines for people. */
export function linesOf(comparison: Comparison): string[] {
  const { slug, version, logs, withoutVariables, changed, failed, firstFailed, empty } = comparison;
  const name = `prompt ${quoted(slug)}, version ${quoted(version)}`;
  if (logs === 0) return [`${name}: no log of it has variables`];
  const without = withoutVariables > 0 ? `; ${withoutVariables} more have no variables` : "";
  return [
    `${name}: of the renderings of ${logs} logs, ${changed} change${without}`,
    ...(failed > 0 ? [`  ${failed} cannot be rendered; the first is that of log ${firstFailed}`] : []),
    ...Object.entries(empty).map(([label, count]) => `  variable ${quoted(label)} is empty in ${count}`),
  ];
}
