import { z } from "zod";
import { jsonSize, MAX_HASHED_CHARACTERS, SLOW_FRACTION } from "../limits/jsonSize.ts";
import { boundedFilter } from "../validation/filters.ts";
import { optionalJsonObject } from "../validation/json.ts";
import { list } from "../validation/list.ts";
import { idPage, searchText, slugPage } from "../validation/pagination.ts";
import { lookUpSlug, lookUpText, newSlug, optionalText, text } from "../validation/text.ts";
import { promptFilter } from "./filter.inputs.ts";
import { MAX_MESSAGES, placeholderValue, promptMessages } from "./messages.inputs.ts";

/** What picks a version of a prompt: a version wins over a tag; with neither it is the production version. */
export const versionChoice = z.object({
  version: optionalText(lookUpText()).describe(
    "The version to use. It wins over `tag`. The empty string counts as absent.",
  ),
  tag: optionalText(lookUpText()).describe(
    "The tag whose version to use, such as `production` or `latest`. The empty string counts as absent.",
  ),
});
export type VersionChoice = z.input<typeof versionChoice>;

export const describePromptInput = z.object({
  slug: lookUpSlug().describe("The slug of the prompt."),
  ...versionChoice.shape,
});
export type DescribePromptInput = z.input<typeof describePromptInput>;

/** The most variables of a version, including those that its texts use. */
export const MAX_VARIABLES = 1_000;
export const MAX_VERSIONS = 10_000;
const MAX_TEMPLATE_CHARACTERS = 500_000;
const MAX_TAG_CHARACTERS = 128;
const MAX_NAME_CHARACTERS = 256;
const name = () => text(MAX_NAME_CHARACTERS).min(1);
const MAX_DESCRIPTION_CHARACTERS = 10_000;
const MAX_MODEL_CHARACTERS = 512;
/** Of the parameters, and of all variables. Each value counts 32 more: writing a short value takes as long as 32 characters. */
const MAX_JSON_CHARACTERS = 1_000_000;
const fits = (value: unknown) =>
  jsonSize(value, MAX_JSON_CHARACTERS, { fraction: SLOW_FRACTION }) <= MAX_JSON_CHARACTERS;
const TOO_LARGE = {
  error:
    "must not be larger than 1,000,000 characters, where each value counts 32 more, and a number with a fraction 432",
};
const description = () => text(MAX_DESCRIPTION_CHARACTERS).nullish();
/** Bounded, as each log of the version has a copy, also in an index. */
const partOfModel = () => text(MAX_MODEL_CHARACTERS);

export const createPromptInput = z
  .object({
    slug: newSlug().describe(
      "The slug of the new prompt: lower-case letters and digits, with single - or _ between.",
    ),
    name: name().nullish().describe("The name to show; else it is the slug."),
    description: description().describe("What the prompt is for."),
    featureSlug: newSlug().nullish().describe("The feature of the application that it belongs to."),
  })
  .describe("A prompt to make.");
export type CreatePromptInput = z.input<typeof createPromptInput>;
export const createPromptArguments = z.object({ input: createPromptInput });

const promptChanges = z.object({
  name: name().nullish().describe("The new name; left as it is when absent or null."),
  description: description().describe("The new description; left as it is when absent, removed by null."),
  featureSlug: newSlug().nullish().describe("The new feature; left as it is when absent, removed by null."),
});
export const updatePromptInput = z.object({
  slug: describePromptInput.shape.slug,
  input: promptChanges.describe("What to change of a prompt; what is absent stays as it is."),
});
export type UpdatePromptInput = z.input<typeof updatePromptInput>;

export const promptModel = z
  .object({
    provider: partOfModel().nullish().describe("Who serves it, such as `openai`."),
    client: partOfModel().nullish().describe("With which client it is called."),
    model: partOfModel().min(1).describe("Its name, such as `gpt-4o-mini`."),
    version: partOfModel().nullish().describe("Its version, where the name alone does not say."),
    parameters: optionalJsonObject()
      .refine(fits, TOO_LARGE)
      .describe("Its parameters, such as `temperature`."),
  })
  .describe("The model that a prompt version is written for.");

export const promptVariable = z
  .object({
    label: text(MAX_HASHED_CHARACTERS).min(1).describe("The name by which the text refers to it."),
    type: text(MAX_MODEL_CHARACTERS).nullish().describe("What it holds; `string` when absent."),
    description: description().describe("What it is for."),
  })
  .describe("A variable of a prompt's text.");

export const MAX_SOURCE_CHARACTERS = 1_000;
const MAX_COMMIT_CHARACTERS = 128;

export const versionSource = z
  .object({
    commit: text(MAX_COMMIT_CHARACTERS).min(1).describe("The id of the commit."),
    author: text(MAX_SOURCE_CHARACTERS).nullish().describe("Who wrote it."),
    message: text(MAX_SOURCE_CHARACTERS).nullish().describe("The first line of its message."),
  })
  .describe("The commit of a repository that a prompt version comes from.");

interface VersionTexts {
  text?: string | null | undefined;
  messages?: object[] | null | undefined;
}

/** A version needs something to say. */
export function requireText({ text, messages }: VersionTexts, context: z.RefinementCtx): void {
  if (text == null && messages == null)
    context.addIssue({ code: "custom", path: ["text"], message: "is required, or else messages" });
}

export const promptVersionInput = z
  .object({
    version: text(MAX_NAME_CHARACTERS)
      .min(1)
      .describe(
        "The name of the version, by habit a semantic version such as `1.2.0`; unique in the prompt.",
      ),
    text: text(MAX_TEMPLATE_CHARACTERS)
      .min(1)
      .nullish()
      .describe(
        "The text of the prompt, a Jinja template of up to 500,000 characters. Without it, `messages` are needed: the text is then that of the user's message, or of all messages under their roles.",
      ),
    messages: promptMessages
      .nullish()
      .describe("The messages of a chat, in order, at most 1,000; beside the texts, or instead of them."),
    systemText: text(MAX_TEMPLATE_CHARACTERS)
      .nullish()
      .describe("The text for the system's role, a Jinja template."),
    model: promptModel.nullish().describe("The model that it is written for."),
    variables: list(promptVariable, MAX_VARIABLES)
      .refine(fits, TOO_LARGE)
      .nullish()
      .describe(
        "What its variables are. Those that the texts use are found automatically; this adds types and descriptions.",
      ),
    source: versionSource
      .nullish()
      .describe("The commit that it comes from, which `gabbro push` finds in a git repository."),
  })
  .superRefine(requireText)
  .describe("A version to add to a prompt.");
export type PromptVersionInput = z.output<typeof promptVersionInput>;

export const createPromptVersionInput = z.object({
  slug: describePromptInput.shape.slug,
  input: promptVersionInput,
});
export type CreatePromptVersionInput = z.output<typeof createPromptVersionInput>;

const tag = text(MAX_TAG_CHARACTERS).min(1).describe("The tag, such as `production`.");

export const publishPromptInput = z.object({
  slug: describePromptInput.shape.slug,
  newTag: tag,
  version: versionChoice.shape.version.describe("The version that the tag is to point to."),
  tag: versionChoice.shape.tag.describe("Another tag, to whose version the tag is to point."),
});
export type PublishPromptInput = z.input<typeof publishPromptInput>;

/** Picks exactly one version: GraphQL refuses anything else, as the type is `@oneOf`. */
export const versionSelector = z
  .object({
    version: versionChoice.shape.version.describe("The name of the version."),
    tag: versionChoice.shape.tag.describe("A tag that points to the version, such as `latest`."),
  })
  .describe("A version of a prompt, by its name or by a tag.");

/** `publishPromptInput` in the form of GraphQL. */
export const publishPromptArguments = z.object({
  slug: describePromptInput.shape.slug,
  input: z
    .object({ newTag: tag, to: versionSelector.describe("The version that the tag is to point to.") })
    .describe("Where to point a tag."),
});

export const promptTagInput = z.object({
  slug: describePromptInput.shape.slug,
  input: z.object({ tag }).describe("A tag of a prompt."),
});
export type PromptTagInput = z.output<typeof promptTagInput>;

export const setTagProtectionInput = z.object({
  slug: describePromptInput.shape.slug,
  input: z
    .object({
      tag,
      protected: z.boolean().describe("Whether moving the tag needs a token with the scope `publish`."),
    })
    .describe("A tag to protect, or no longer to protect."),
});
export type SetTagProtectionInput = z.output<typeof setTagProtectionInput>;

export const promptsInput = z.object({
  featureSlug: lookUpSlug()
    .nullish()
    .describe("Only those of this feature, as `filter: { featureSlug }` says for several."),
  filter: boundedFilter(promptFilter).describe("Which ones; all of them when absent."),
  search: searchText().describe(
    "Only those with this in their slug, name or description, in any case; up to 200 characters.",
  ),
  ...slugPage(),
});
export type PromptsInput = z.input<typeof promptsInput>;

export const versionsInput = z.object(idPage());
export const tagHistoryInput = z.object(idPage());

export const promptVariableValue = z
  .object({
    label: text(MAX_HASHED_CHARACTERS).describe("The variable's label in the prompt."),
    value: text().nullish().describe("The text to put in its place."),
  })
  .describe("What to fill a variable with.");

export const renderPromptInput = z.object({
  ...describePromptInput.shape,
  variables: list(promptVariableValue, MAX_VARIABLES).nullish().describe("What to fill the variables with."),
  placeholders: list(placeholderValue, MAX_VARIABLES)
    .refine((values) => values.reduce((sum, { messages }) => sum + messages.length, 0) <= MAX_MESSAGES, {
      error: `must have at most ${MAX_MESSAGES} messages together`,
    })
    .nullish()
    .describe("What to put in the place of placeholders."),
});
export type RenderPromptInput = DescribePromptInput &
  Partial<Pick<z.output<typeof renderPromptInput>, "variables" | "placeholders">>;

export const promptDiffInput = z.object({
  slug: describePromptInput.shape.slug,
  from: lookUpText().describe("The version to compare from."),
  to: lookUpText().describe("The version to compare with it."),
});
export type PromptDiffInput = z.output<typeof promptDiffInput>;
