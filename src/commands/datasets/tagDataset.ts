import type { Context } from "../../context.ts";
import { tagDatasetInput } from "../../datasets/inputs.ts";
import { tagDatasetVersion } from "../../datasets/tags.resolvers.ts";
import { checkOptions } from "../options.ts";
import { printJson } from "../printing.ts";
import { say } from "../workspace.ts";
import { selectorOf } from "./selectorOf.ts";

/** Has a tag name a version of a dataset, which is named by its number or by another tag. */
export async function tagDataset(
  context: Context,
  { slug, tag, to }: { slug: string; tag: string; to: string },
  { json }: { json?: true },
): Promise<void> {
  const input = checkOptions(tagDatasetInput, { slug, input: { tag, to: selectorOf(to) } }, optionNames);
  const { label, version } = await tagDatasetVersion(context, input);
  if (json) await printJson({ slug, tag: label, version });
  else say(`The tag "${label}" names version ${version} of ${slug}.`);
}

const optionNames = {
  "input.tag": "The tag",
  "input.to.tag": "The version",
  "input.to.version": "The version",
};
