import type { Context } from "../context.ts";
import { warningText } from "../warnings.ts";
import type { Model } from "./entities.ts";
import type { DescribePromptInput } from "./inputs.ts";
import { servedPrompt } from "./reading.resolvers.ts";

/** The answer of `GET /prompts/{slug}`: `servedPrompt` in the form that the published clients expect. */
export async function servedAnswer(context: Context, input: DescribePromptInput) {
  const served = await servedPrompt(context, input);
  const { slug, text, systemText, messages, version, tag, model, warnings } = served;
  const warning = warningText(warnings);
  return {
    prompt: {
      ...{ slug, text, systemText: systemText ?? "", ...(messages && { messages }) },
      ...{ version, tag: tag ?? "", model: completeModel(model) },
    },
    ...(warning !== null && { warning }),
  };
}

const clientsByProvider = new Map([
  ["anthropic", "anthropic"],
  ["huggingface", "hugging-face"],
  ["mistral", "mistral"],
  ["mistralai", "mistral"],
  ["google", "gemini"],
  ["gemini", "gemini"],
  ["azure", "azure"],
  ["aws", "bedrock"],
  ["bedrock", "bedrock"],
  ["xai", "xai"],
  ["deepseek", "deepseek"],
]);

/** The client for a provider; most others answer the client of OpenAI. */
function clientOf(provider: string): string {
  return clientsByProvider.get(provider.toLowerCase().replaceAll("-", "")) ?? "open-ai";
}

const DEFAULT_PARAMETERS = { temperature: 1, topP: 1, maxLength: 0, responseFormat: "text" };

/** The published clients require every member of the model, each of its type. */
function completeModel(model: Model | null) {
  const { client, model: name, version, parameters = {} } = model ?? {};
  const provider = model?.provider ?? "";
  const set = Object.entries(parameters).filter(
    ([parameter, value]) => value !== null || !Object.hasOwn(DEFAULT_PARAMETERS, parameter),
  );
  return {
    provider,
    client: client || clientOf(provider),
    model: name ?? "",
    version: version ?? "",
    parameters: { ...DEFAULT_PARAMETERS, ...Object.fromEntries(set) },
  };
}
