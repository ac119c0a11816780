import type { Context } from "../../context.ts";
import { promptsInput } from "../../prompts/inputs.ts";
import { describePrompts } from "../../prompts/reading.resolvers.ts";
import { availableVersionsOf, type PromptDescription } from "../../prompts/resolvers.ts";
import { checkOptions } from "../options.ts";
import { readUpTo } from "../pages.ts";
import { printJson, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { warn } from "../workspace.ts";

export interface ListPromptsOptions {
  feature?: string;
  search?: string;
  limit: number;
  json?: true;
}

const optionNames = { featureSlug: "--feature", search: "--search" };

/** Prints the prompts of a workspace, each described by its production version, else its newest. */
export async function listPrompts(
  context: Context,
  { feature: featureSlug, search, limit, json }: ListPromptsOptions,
): Promise<void> {
  const input = checkOptions(
    promptsInput.pick({ featureSlug: true, search: true }),
    { featureSlug, search },
    optionNames,
  );
  const { entries, isMore } = await readUpTo<PromptDescription>(limit, ({ limit, after }) =>
    describePrompts(context, { ...input, limit, after: after?.slug }),
  );
  if (json) await printJson(await Promise.all(entries.map((prompt) => toJson(context, prompt))));
  else if (entries.length === 0) warn("There is no such prompt.");
  else await printLines(toTable(columns, entries));
  if (isMore) warn(`There are more than ${limit}. See them with --limit.`);
}

async function toJson(context: Context, prompt: PromptDescription) {
  const { slug, name, status, description, version, tag, availableTags } = prompt;
  const availableVersions = await availableVersionsOf(context, prompt);
  return { slug, name, status, description, version, tag, availableVersions, availableTags };
}

const columns: Column<PromptDescription>[] = [
  { title: "SLUG", cell: ({ slug }) => slug, isWhole: true },
  { title: "NAME", cell: ({ name }) => name },
  { title: "STATUS", cell: ({ status }) => status },
  { title: "VERSION", cell: ({ version }) => version },
  { title: "TAGS", cell: ({ availableTags }) => availableTags.join(", ") || null },
];
