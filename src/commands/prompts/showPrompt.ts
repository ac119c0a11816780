import type { Context } from "../../context.ts";
import { printableText } from "../../printable.ts";
import type { Model, Variable } from "../../prompts/entities.ts";
import { describePromptInput } from "../../prompts/inputs.ts";
import { followFromMessages, underRole } from "../../prompts/messages.ts";
import { describePrompt, type PromptDescription } from "../../prompts/resolvers.ts";
import { contentColumn, tagsOf } from "../../prompts/versions.resolvers.ts";
import { checkOptions } from "../options.ts";
import { formatTime, printJson, printLines } from "../printing.ts";
import { warn } from "../workspace.ts";

export interface ShowPromptOptions {
  version?: string;
  tag?: string;
  json?: true;
}

/** Prints a prompt with the content of one of its versions. */
export async function showPrompt(
  context: Context,
  slug: string,
  { version, tag, json }: ShowPromptOptions,
): Promise<void> {
  const prompt = await describePrompt(context, checkOptions(describePromptInput, { slug, version, tag }));
  const details = await readDetails(context, prompt);
  for (const { message } of prompt.warnings) warn(message);
  if (json) await printJson(details);
  else await printLines([printableText(linesOf(details).join("\n"))]);
}

type Details = Awaited<ReturnType<typeof readDetails>>;

const textOf = contentColumn("text");
const systemTextOf = contentColumn("systemText");
const messagesOf = contentColumn("messages");
const modelOf = contentColumn("model");
const createdAtOf = contentColumn("createdAt");

async function readDetails(context: Context, prompt: PromptDescription) {
  const { id, slug, name, status, description, version, tag, versionId, variables = [] } = prompt;
  const tags = (await tagsOf(context, id)).map(({ label, version }) => ({ label, version }));
  const availableVersions = prompt.versions?.map((one) => one.version) ?? [];
  const head = { slug, name, status, description, availableVersions, tags, version, tag, variables };
  if (versionId === null || version === null)
    return { ...head, createdAt: null, model: null, systemText: null, text: null, messages: null };
  const record = { id: versionId, version };
  const [createdAt, model, systemText, text, messages] = await Promise.all([
    createdAtOf(record, {}, context),
    modelOf(record, {}, context),
    systemTextOf(record, {}, context),
    textOf(record, {}, context),
    messagesOf(record, {}, context),
  ]);
  return { ...head, createdAt, model, systemText, text, messages };
}

function linesOf({ slug, name, status, description, ...facts }: Details): string[] {
  const { systemText, text, messages } = facts;
  const follows = text === null ? null : followFromMessages({ text, systemText, messages });
  return [
    `${slug} (${status})`,
    ...(name === slug ? [] : [name]),
    ...(description ? [description] : []),
    "",
    ...factsOf(facts),
    ...(systemText && !follows?.systemText ? ["", "System text:", systemText] : []),
    ...(text === null || follows?.text ? [] : ["", "Text:", text]),
    ...(messages ? ["", "Messages:", messages.map(underRole).join("\n\n")] : []),
  ];
}

type Facts = Omit<Details, "slug" | "name" | "status" | "description">;

function factsOf({ version, tag, createdAt, model, tags, availableVersions, variables }: Facts): string[] {
  const facts: [name: string, value: string | null][] = [
    ["Version", version && `${version}${tag ? ` (${tag})` : ""}`],
    ["Made", createdAt && formatTime(createdAt)],
    ["Model", model && formatModel(model)],
    ["Tags", tags.map((each) => `${each.label} ${each.version}`).join(", ")],
    ["Versions", formatVersions(availableVersions)],
    ...variables.map((variable, n): [string, string] => [
      n === 0 ? "Variables" : "",
      formatVariable(variable),
    ]),
  ];
  return facts.flatMap(([name, value]) => (value ? [`${name.padEnd(11)}${value}`] : []));
}

function formatModel({ provider, model, version, parameters }: Model): string {
  const values = Object.entries(parameters).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const name = [provider, model, version].filter(Boolean).join(" ");
  return [name, ...values].join(", ");
}

function formatVariable({ label, type, description }: Variable): string {
  return `${label} (${type})${description ? `: ${description}` : ""}`;
}

const MAX_VERSIONS = 20;

/** The names of the newest versions, the oldest of them first. */
function formatVersions(names: string[]): string {
  const earlier = names.length - MAX_VERSIONS;
  const newest = names.slice(-MAX_VERSIONS).join(", ");
  return earlier > 0 ? `${newest} and ${earlier.toLocaleString("en")} earlier ones` : newest;
}
