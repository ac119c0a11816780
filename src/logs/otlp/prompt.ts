import type { ReportedLog } from "../reported.ts";
import { promptSources } from "./mappingTable.ts";
import type { PromptSource } from "./source.ts";
import type { OtlpAttributes } from "./span.ts";
import { toText } from "./values.ts";

/** The prompt that served a span, and the version and tag that its sender names with it. */
export function readPrompt(attributes: OtlpAttributes): Pick<ReportedLog, "promptSlug" | "version" | "tag"> {
  const source = findPrompt(attributes);
  const read = (key: string | undefined) => (key && toText(attributes[key])) || null;
  return { promptSlug: read(source?.slug), version: read(source?.version), tag: read(source?.tag) };
}

/** The attributes that name the prompt; undefined when none does. */
export const findPrompt = (attributes: OtlpAttributes): PromptSource | undefined =>
  promptSources.find(({ slug }) => toText(attributes[slug]) !== undefined);
