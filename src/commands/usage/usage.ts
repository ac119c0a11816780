import { type Command, Option } from "commander";
import { examples, jsonOption, limitOption } from "../options.ts";
import { parsePastTime } from "../times.ts";
import { withWorkspace, workspaceOption } from "../workspace.ts";
import type { UsageOptions } from "./usageReport.ts";

const GROUPS = ["day", "prompt", "version", "model", "user", "organization", "all"];

const HELP = examples(
  "usage",
  "usage --since 30d --by model",
  "usage --since 2026-10-01 --until 2026-11-01 --by user --json",
);

/** The command that sums up what calls took. */
export function addUsageCommand(program: Command): void {
  program
    .command("usage")
    .description("sum up what the calls of a period took: logs, tokens, cost and latency")
    .option(
      "--since <time>",
      "calls that began then or later: an age such as 12h or 30d, or a time; 7d unless given",
      parsePastTime,
    )
    .option("--until <time>", "calls that began before then; now unless given", parsePastTime)
    .addOption(new Option("--by <group>", "what to sum up by").choices(GROUPS).default("day"))
    .option("--prompt <slug>", "only the calls of this prompt")
    .option("--time-zone <zone>", "whose days are meant, such as Europe/Berlin", "UTC")
    .addOption(limitOption(100, 1_000))
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", HELP)
    .action(({ workspace, ...options }: UsageOptions & { workspace: string }) =>
      withWorkspace(workspace, async (context) => {
        const { reportUsage } = await import("./usageReport.ts");
        await reportUsage(context, options);
      }),
    );
}
