import type { Command } from "commander";
import { examples, jsonOption, limitOption } from "../options.ts";
import { withWorkspace, workspaceOption } from "../workspace.ts";
import type { ListPromptsOptions } from "./listPrompts.ts";
import type { ShowPromptOptions } from "./showPrompt.ts";

type WithWorkspace<Options> = Options & { workspace: string };

const DIFF_HELP = `
Without FROM and TO it shows what would change if the newest version went to production.
${examples("prompt diff country-guide", "prompt diff country-guide 1.0.0 2.0.0")}`;

/** The commands that read prompts. What they need is loaded when they run, so that the service starts without it. */
export function addPromptCommands(program: Command): void {
  const prompt = program.command("prompt").description("list, show and compare prompts");

  prompt
    .command("list")
    .description("list the prompts, in the order of their slugs")
    .option("--feature <slug>", "only those of this feature")
    .option("--search <text>", "only those with this in their slug, name or description")
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("prompt list", "prompt list --search country --json"))
    .action(({ workspace, ...options }: WithWorkspace<ListPromptsOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { listPrompts } = await import("./listPrompts.ts");
        await listPrompts(context, options);
      }),
    );

  prompt
    .command("show")
    .description("show a prompt: its versions and tags, and the texts of one version")
    .argument("<slug>", "the slug of the prompt")
    .option("--version <version>", "the version to show; else the production version, else the newest")
    .option("--tag <tag>", "the tag whose version to show, such as staging or latest")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("prompt show country-guide", "prompt show country-guide --tag staging"))
    .action((slug: string, { workspace, ...options }: WithWorkspace<ShowPromptOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { showPrompt } = await import("./showPrompt.ts");
        await showPrompt(context, slug, options);
      }),
    );

  prompt
    .command("diff")
    .description("show what differs between two versions of a prompt")
    .argument("<slug>", "the slug of the prompt")
    .argument("[from]", "the version or tag to compare from", "production")
    .argument("[to]", "the version or tag to compare with it", "latest")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", DIFF_HELP)
    .action(
      (slug: string, from: string, to: string, { workspace, ...options }: WithWorkspace<{ json?: true }>) =>
        withWorkspace(workspace, async (context) => {
          const { diffPrompt } = await import("./diffPrompt.ts");
          await diffPrompt(context, { slug, from, to }, options);
        }),
    );
}
