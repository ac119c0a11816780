import { type Command, InvalidArgumentError } from "commander";
import { examples, jsonOption, limitOption, parseNumber } from "../options.ts";
import { parsePastTime } from "../times.ts";
import { withWorkspace, workspaceOption } from "../workspace.ts";
import type { ListLogsOptions, MetadataMatch } from "./listLogs.ts";

const HELP = `
With the id of a log it shows that one, with its input and output. For all logs of a period: gabbro export logs.
${examples(
  "logs --since 1h --prompt country-guide",
  "logs --search '\"capital of Kenya\"' --json",
  "logs 01a2079d-6263-7227-9661-b303402e0dc6",
)}`;

/** The command that lists logs, or shows one. */
export function addLogsCommand(program: Command): void {
  program
    .command("logs")
    .description("list the logs of calls, the newest first, or show one")
    .argument("[id]", "the id of a log", parseId)
    .option(
      "--since <time>",
      "calls that began then or later: an age such as 15m or 7d, or a time",
      parsePastTime,
    )
    .option("--until <time>", "calls that began before then", parsePastTime)
    .option("--prompt <slug>", "only those of this prompt")
    .option("--version <version>", "only those that this version served")
    .option("--tag <tag>", "only those whose version was found by this tag")
    .option("--user <id>", "only those for this user")
    .option("--organization <id>", "only those for this organization")
    .option("--search <words>", "only those with these words in their input or output")
    .option("--min-cost <dollars>", "only calls that cost at least so much", parseNumber)
    .option("--max-cost <dollars>", "only calls that cost at most so much", parseNumber)
    .option("--min-latency <ms>", "only calls that took at least so many milliseconds", parseNumber)
    .option("--max-latency <ms>", "only calls that took at most so many milliseconds", parseNumber)
    .option("--metadata <key=value>", "only those with this in their metadata; may be repeated", addMatch)
    .addOption(limitOption(20))
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", HELP)
    .action((id: string | undefined, { workspace, ...options }: ListLogsOptions & { workspace: string }) =>
      withWorkspace(workspace, async (context) => {
        if (id === undefined) await (await import("./listLogs.ts")).listLogs(context, options);
        else await (await import("./showLog.ts")).showLog(context, id, options);
      }),
    );
}

/** Parses a number, true, false, null or a string in quotation marks as JSON, and takes any other value as text. */
function addMatch(option: string, matches: MetadataMatch[] = []): MetadataMatch[] {
  const at = option.indexOf("=");
  if (at < 1)
    throw new InvalidArgumentError("It must be a key and a value with = between, such as plan=pro.");
  const text = option.slice(at + 1);
  const isJson = /^(?:-?\d[\d.eE+-]*|true|false|null|".*")$/.test(text) && isJsonText(text);
  return [...matches, { key: option.slice(0, at), value: isJson ? JSON.parse(text) : text }];
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parseId(id: string): string {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id))
    throw new InvalidArgumentError("It must be the id of a log, as `gabbro logs` lists them.");
  return id.toLowerCase();
}
