import { z } from "zod";
import { text, textOrNothing } from "../inputs.ts";

/** What picks a version of a prompt: a version wins over a tag; with neither it is the production version. */
export const versionChoice = z.object({
  version: textOrNothing().describe(
    "The version to use. It wins over `tag`. The empty string counts as absent.",
  ),
  tag: textOrNothing().describe(
    "The tag whose version to use, such as `production` or `latest`. The empty string counts as absent.",
  ),
});
export type VersionChoice = z.input<typeof versionChoice>;

export const describePromptInput = z.object({
  slug: text().describe("The slug of the prompt."),
  ...versionChoice.shape,
});
export type DescribePromptInput = z.input<typeof describePromptInput>;
