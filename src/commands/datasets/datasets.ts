import type { Command } from "commander";
import { examples, jsonOption, limitOption } from "../options.ts";
import { withWorkspace, workspaceOption } from "../workspace.ts";
import type { DiffDatasetOptions } from "./diffDataset.ts";
import type { ListDatasetsOptions } from "./listDatasets.ts";
import type { ShowDatasetOptions } from "./showDataset.ts";

type WithWorkspace<Options> = Options & { workspace: string };

const SLUG = "the slug of the dataset";

/** The commands for datasets and their versions. What they need is loaded when they run, so that the service starts without it. */
export function addDatasetCommands(program: Command): void {
  const dataset = program.command("dataset").description("list and show datasets; compare and tag versions");
  addReading(dataset);
  addVersions(dataset);
}

function addReading(dataset: Command): void {
  dataset
    .command("list")
    .description("list the datasets, in the order of their slugs")
    .option("--search <text>", "only those with this in their slug or name")
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("dataset list", "dataset list --search quiz --json"))
    .action(({ workspace, ...options }: WithWorkspace<ListDatasetsOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { listDatasets } = await import("./listDatasets.ts");
        await listDatasets(context, options);
      }),
    );

  dataset
    .command("show")
    .description("show a dataset: its columns, its tags and how many rows it has")
    .argument("<slug>", SLUG)
    .option("--at <version>", "a version of the dataset; else the newest")
    .option("--tag <tag>", "a tag that names a version of the dataset")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText(
      "after",
      `\nFor its rows: gabbro export dataset.\n${examples("dataset show country-quiz", "dataset show country-quiz --at 1")}`,
    )
    .action((slug: string, { workspace, ...options }: WithWorkspace<ShowDatasetOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { showDataset } = await import("./showDataset.ts");
        await showDataset(context, slug, options);
      }),
    );
}

function addVersions(dataset: Command): void {
  dataset
    .command("versions")
    .description("list the versions of a dataset, the newest first, with their tags and what they changed")
    .argument("<slug>", SLUG)
    .addOption(limitOption(20))
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("dataset versions country-quiz"))
    .action((slug: string, { workspace, ...options }: WithWorkspace<{ limit: number; json?: true }>) =>
      withWorkspace(workspace, async (context) => {
        const { listVersions } = await import("./listVersions.ts");
        await listVersions(context, slug, options);
      }),
    );

  dataset
    .command("diff")
    .description("show the columns and the rows in which two versions of a dataset differ")
    .argument("<slug>", SLUG)
    .argument("<from>", "the version or tag to compare from")
    .argument("[to]", "the version or tag to compare with it", "latest")
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("dataset diff country-quiz 1", "dataset diff country-quiz gate 12 --json"))
    .action(
      (
        slug: string,
        from: string,
        to: string,
        { workspace, ...options }: WithWorkspace<DiffDatasetOptions>,
      ) =>
        withWorkspace(workspace, async (context) => {
          const { diffDataset } = await import("./diffDataset.ts");
          await diffDataset(context, { slug, from, to }, options);
        }),
    );

  dataset
    .command("tag")
    .description("have a tag name a version of a dataset")
    .argument("<slug>", SLUG)
    .argument("<tag>", "the tag, such as release-gate; it is made when there is none of that name")
    .argument("<version>", "the version, or another tag that names it")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("dataset tag country-quiz release-gate 3"))
    .action(
      (slug: string, tag: string, to: string, { workspace, ...options }: WithWorkspace<{ json?: true }>) =>
        withWorkspace(workspace, async (context) => {
          const { tagDataset } = await import("./tagDataset.ts");
          await tagDataset(context, { slug, tag, to }, options);
        }),
    );
}
