import { z } from "zod";
import { MAX_HASHED_CHARACTERS } from "../limits/jsonSize.ts";
import { versionChoice } from "../prompts/inputs.ts";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { json, optionalJson, optionalJsonObject } from "../validation/json.ts";
import { list } from "../validation/list.ts";
import { idOf, lookUpName, lookUpSlug, optionalText, text } from "../validation/text.ts";

const MAX_VARIABLES = 1_000;
export const MAX_TOKENS = 2 ** 31 - 1;
export const MAX_COST = 1e9; // so that sums stay numbers

/** The id of a trace in OpenTelemetry. */
const OTEL_TRACE_ID = /^[0-9a-f]{32}$/i;

export const traceInput = z.object({
  id: z
    .union([idOf("a trace"), z.string().regex(OTEL_TRACE_ID, { abort: true }).toLowerCase()], {
      error: "must be the id of a trace",
    })
    .describe("The id of the trace, or its trace id of OpenTelemetry in 32 hexadecimal digits."),
});
export const logInput = z.object({ id: idOf("a log").describe("The id of the log.") });

export const logAddedInput = z.object({
  slug: text().nullish().describe("Only logs of the prompt with this slug."),
});

export const tokens = () =>
  z
    .int()
    .min(0)
    .max(MAX_TOKENS)
    .nullish()
    .transform((value) => value ?? null);

export const costInput = () =>
  z
    .number()
    .min(0)
    .max(MAX_COST)
    .nullish()
    .transform((value) => value ?? null);

/**
 * The longest text that may stand in an index of logs; a name that is listed has no more, either. Each log of a trace has the ids
 * of its user and its organization: with 4,096 characters each, a request of 0.3 MB stored 770 MB.
 */
export const MAX_INDEXED_CHARACTERS = 512;

export const party = z
  .object({
    id: text(MAX_INDEXED_CHARACTERS).describe(
      "The id by which you know it. An empty id counts as no party at all.",
    ),
    name: text(MAX_INDEXED_CHARACTERS)
      .nullish()
      .transform((value) => value ?? null)
      .describe("The name to show."),
  })
  .describe("An organization or a user on whose behalf a call was made.");

export const partyOrNothing = () => party.nullish().transform((value) => (value?.id ? value : null));

export const loggedVariable = z
  .object({
    label: text(MAX_HASHED_CHARACTERS).describe("The variable's label in the prompt."),
    value: text()
      .nullish()
      .transform((value) => value ?? null)
      .describe("The text it was filled with."),
  })
  .describe("What a variable of the prompt was filled with.");

/** Longer than any name can be: a log of a version that does not exist is kept, too. */
export const choice = () => optionalText(text(MAX_INDEXED_CHARACTERS));

/**
 * PostgreSQL sorts the names in the metadata of a log for its index. An order made for its algorithm takes time that grows with
 * the square: 3 s for 99,000 names, which no time limit interrupts, and 28 ms for 10,000.
 */
export const MAX_METADATA_MEMBERS = 10_000;

/** Metadata of a log or a trace. */
export const metadataOf = (what: string) =>
  optionalJsonObject(MAX_METADATA_MEMBERS).describe(
    `Anything else worth keeping with ${what}: at most ${MAX_METADATA_MEMBERS.toLocaleString("en")} members at all depths.`,
  );

export const logPromptRecord = z
  .object({
    slug: text(MAX_INDEXED_CHARACTERS)
      .min(1)
      .describe("The slug of the prompt. An unknown one is kept too, with a warning."),
    output: json().describe("What the model answered: any JSON but null."),
    name: optionalText().describe(
      "The name of the trace; else it takes the prompt's slug. The empty string counts as absent.",
    ),
    version: choice().describe(versionChoice.shape.version.description!),
    tag: choice().describe(versionChoice.shape.tag.description!),
    input: optionalJson().describe("What the model was given: any JSON."),
    idealOutput: optionalJson().describe("What the model should have answered: any JSON."),
    variables: list(loggedVariable, MAX_VARIABLES)
      .nullish()
      .transform((value) => value ?? null)
      .describe("What the prompt's variables were filled with."),
    startTime: optionalTimestamp().describe(
      "When the call began: ISO 8601 (UTC when it names no zone) or epoch milliseconds. Else it is `endTime`, else the time of arrival.",
    ),
    endTime: optionalTimestamp().describe("When the call ended, written like `startTime` and not before it."),
    inputTokens: tokens().describe("The tokens of the input. Counted from `input` when omitted."),
    outputTokens: tokens().describe("The tokens of the output. Counted from `output` when omitted."),
    cost: costInput().describe(
      "What the call cost, in US dollars. Computed from the tokens and the model's price when omitted.",
    ),
    organization: partyOrNothing().describe("The organization on whose behalf the call was made."),
    user: partyOrNothing().describe("The user on whose behalf the call was made."),
    metadata: metadataOf("the call"),
  })
  .superRefine(({ startTime, endTime }, context) => {
    if (!startTime || !endTime || startTime <= endTime) return;
    context.addIssue({ code: "custom", path: ["endTime"], message: "must not be before startTime" });
  })
  .meta({
    id: "LogPrompt",
    description: "What a prompt answered, and what else is known of the call.",
    // Not "examples": zod leaves those out of the schema of an input that it transforms.
    example: {
      slug: "country-guide",
      tag: "production",
      name: "trip planner",
      input: "What is the capital of Kenya?",
      output: "Nairobi is the capital of Kenya.",
      variables: [{ label: "country", value: "Kenya" }],
      startTime: "2026-01-31T09:30:00.000Z",
      endTime: "2026-01-31T09:30:01.250Z",
      user: { id: "u-17", name: "Amina" },
      metadata: { region: "eu" },
    },
  });
export type LogPromptRecord = z.output<typeof logPromptRecord>;

export const logPromptInput = z.object({ input: logPromptRecord });

const MAX_COLUMNS = 1_000;

export const logColumn = z
  .object({
    column: lookUpName().describe("The name of the column."),
    from: z.enum(["input", "output", "idealOutput", "variable"]).describe("The part that goes into it."),
    variable: lookUpName().nullish().describe("The label of the variable, when the part is `variable`."),
  })
  .describe("Which part of a logged call goes into a column.");
export type LogColumn = z.output<typeof logColumn>;

export const addLogToDatasetInput = z.object({
  slug: lookUpSlug().describe("The slug of the dataset."),
  input: z
    .object({
      logId: idOf("a log").describe("The id of the log."),
      columns: list(logColumn, MAX_COLUMNS)
        .nullish()
        .describe(
          "What goes into which column; when absent, each column takes the part, or else the variable, of its own name.",
        ),
    })
    .describe("A log to make a row of."),
});
export type AddLogToDatasetInput = z.output<typeof addLogToDatasetInput>;
