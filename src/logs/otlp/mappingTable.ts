import { inputField, outputField } from "./contentTable.ts";
import type { Field, PromptSource, Source, TypeSource } from "./source.ts";
import { costField, tokenFields } from "./usageTable.ts";
import { toContent, toMilliseconds, toObject, toShare, toSlugs, toText, toVariables } from "./values.ts";

/** The attributes that decide the type of a span, in order. A word that says nothing is passed over. */
export const typeSources: readonly TypeSource[] = [
  { word: "basalt.span.kind" },
  { word: "langfuse.observation.type" },
  { word: "openinference.span.kind" },
  // LangSmith writes the operation "chat" on every span, also on those of templates.
  { word: "langsmith.span.kind" },
  { word: "gen_ai.operation.name" },
  { word: "traceloop.span.kind" },
  { word: "mlflow.spanType" },
  { word: "llm.request.type" },
  { word: "ai.operationId" },
  { word: "operation.name" },
  { present: "gen_ai.tool.name", type: "tool" },
  { present: "ai.toolCall.name", type: "tool" },
  { present: "langfuse.observation.model.name", type: "generation" },
  { present: "gen_ai.response.model", type: "generation" },
  { present: "gen_ai.request.model", type: "generation" },
  { present: "llm.response.model_name", type: "generation" },
  { present: "llm.request.model_name", type: "generation" },
  { present: "llm.model_name", type: "generation" },
  { present: "embedding.model_name", type: "embedding" },
  { present: "ai.model.id", type: "generation" },
];

/** The prompt that served a span. Its version and tag come from the same sender as its slug. */
export const promptSources: readonly PromptSource[] = [
  { slug: "basalt.prompt.slug", version: "basalt.prompt.version", tag: "basalt.prompt.tag" },
  { slug: "gabbro.prompt.slug", version: "gabbro.prompt.version", tag: "gabbro.prompt.tag" },
  { slug: "langfuse.observation.prompt.name", version: "langfuse.observation.prompt.version" },
  { slug: "traceloop.prompt.key", version: "traceloop.prompt.version" },
  { slug: "gen_ai.prompt.name", version: "gen_ai.prompt.version" },
  { slug: "prompt.id", version: "llm.prompt_template.version" },
];

const fieldOf =
  <T>(accept: Field<T>["accept"]) =>
  (...from: Source[]): Field<T> => ({ from, accept });

const text = fieldOf(toText);
const content = fieldOf(toContent);
const object = fieldOf(toObject);
const share = fieldOf(toShare);
const slugs = fieldOf(toSlugs);
const variables = fieldOf(toVariables);
const duration = fieldOf(toMilliseconds);

/** For each field, where it comes from. */
export const mappingTable = {
  name: text(
    { attribute: "basalt.tool.name", for: "tool" },
    { attribute: "basalt.function.name", for: "function" },
    { attribute: "gen_ai.agent.name", for: "agent" },
    { attribute: "gen_ai.tool.name", for: "tool" },
    { attribute: "ai.toolCall.name", for: "tool" },
    { attribute: "ai.telemetry.functionId", for: "outer" },
    { attribute: "logfire.msg" },
    { attribute: "traceloop.entity.name" },
  ),
  traceName: text(
    { attribute: "langfuse.trace.name" },
    { attribute: "langsmith.trace.name", for: "root" },
    { attribute: "traceloop.workflow.name" },
  ),
  statusMessage: text({ attribute: "langfuse.observation.status_message" }),
  provider: text(
    { attribute: "gen_ai.provider.name" },
    // The AI SDK writes "openai.chat" into both; in the other senders' gen_ai.system dots belong to the name.
    { attribute: "ai.model.provider", beforeDot: true },
    { attribute: "gen_ai.system" },
    { attribute: "llm.provider" },
    { attribute: "llm.system" },
    { attribute: "mlflow.llm.provider", json: "quoted" },
    { attribute: "basalt.prompt.model.provider", for: "modelCall" },
  ),
  model: text(
    { attribute: "langfuse.observation.model.name" },
    { attribute: "gen_ai.response.model" },
    { attribute: "llm.response.model_name" },
    { attribute: "llm.model_name" },
    { attribute: "embedding.model_name" },
    { attribute: "mlflow.llm.model", json: "quoted" },
    { attribute: "gen_ai.request.model" },
    { attribute: "llm.request.model_name" },
    { attribute: "ai.model.id" },
    { attribute: "basalt.prompt.model.model", for: "modelCall" },
  ),
  input: inputField,
  output: outputField,
  traceInput: content({ attribute: "langfuse.trace.input" }),
  traceOutput: content({ attribute: "langfuse.trace.output" }),
  ...tokenFields,
  cost: costField,
  timeToFirstTokenMs: duration(
    { attribute: "gen_ai.response.time_to_first_chunk", unit: "seconds" },
    { attribute: "gen_ai.client.operation.time_to_first_chunk", unit: "seconds" },
    // Strands sends milliseconds, though the metric of this name is in seconds.
    { attribute: "gen_ai.server.time_to_first_token" },
    { attribute: "ai.response.msToFirstChunk" },
    { attribute: "langfuse.observation.completion_start_time", unit: "time", json: "quoted" },
  ),
  userId: text(
    { attribute: "basalt.user.id" },
    { attribute: "langfuse.user.id" },
    { attribute: "user.id" },
    { attribute: "enduser.id" },
    { attribute: "gen_ai.user" },
    { attribute: "llm.user" },
    { attribute: "ai.telemetry.metadata.userId" },
    { attribute: "traceloop.association.properties.user_id" },
  ),
  userName: text({ attribute: "basalt.user.name" }),
  organizationId: text({ attribute: "basalt.organization.id" }),
  organizationName: text({ attribute: "basalt.organization.name" }),
  sessionId: text(
    { attribute: "langfuse.session.id" },
    { attribute: "session.id" },
    { attribute: "gen_ai.conversation.id" },
    { attribute: "ai.telemetry.metadata.sessionId" },
    { attribute: "traceloop.association.properties.session_id" },
    // LangSmith's langsmith.trace.session_name is the name of a project, not of a session.
    { attribute: "langsmith.metadata.session_id" },
    { attribute: "langsmith.metadata.thread_id" },
  ),
  environment: text(
    { attribute: "langfuse.environment" },
    { resource: "deployment.environment.name" },
    { resource: "deployment.environment" },
  ),
  featureSlug: text({ attribute: "basalt.span.feature_slug" }),
  experimentId: text({ attribute: "basalt.experiment.id" }),
  sampleRate: share(
    { attribute: "basalt.span.evaluation.sample_rate" },
    { attribute: "basalt.span.evaluation.config", member: "sample_rate" },
    { attribute: "basalt.evaluation.config", member: "sampleRate" },
    { attribute: "basalt.evaluation.config", member: "sample_rate" },
  ),
  evaluators: slugs({ attribute: "basalt.span.evaluators" }),
  variables: variables(
    { attribute: "basalt.prompt.variables" },
    { attribute: "basalt.span.variables" },
    { attribute: "traceloop.prompt.template_variables" },
    { below: "traceloop.prompt.template_variables." },
    { attribute: "llm.prompt_template.variables" },
  ),
  // All that are there, in one object; the first wins where two have the same member.
  metadata: object(
    { attribute: "basalt.metadata" },
    { below: "basalt.meta." },
    { attribute: "langfuse.observation.metadata" },
    { below: "langfuse.observation.metadata." },
    { attribute: "metadata" },
    { below: "ai.telemetry.metadata." },
    { below: "traceloop.association.properties." },
    { below: "langsmith.metadata." },
  ),
  traceMetadata: object({ attribute: "langfuse.trace.metadata" }, { below: "langfuse.trace.metadata." }),
};

export type MappedField = keyof typeof mappingTable;
