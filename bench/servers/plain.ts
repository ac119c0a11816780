import { createServer } from "node:http";
import { PostgreSqlDriver } from "@mikro-orm/postgresql";
import { SqlMikroORM } from "@mikro-orm/sql";
import { SqliteDriver } from "@mikro-orm/sqlite";
import { createSchema, createYoga } from "graphql-yoga";
import { v7 as uuidv7 } from "uuid";
import { Dataset, DatasetRow } from "../../src/datasets/entities.ts";
import { Log, Trace } from "../../src/logs/entities.ts";
import { ModelPrice } from "../../src/pricing/entities.ts";
import { Prompt, PromptTag, PromptTagMove, PromptVersion } from "../../src/prompts/entities.ts";
import { AccessToken, AuditEntry, Workspace } from "../../src/workspaces/entities.ts";

// What most people would write: GraphQL Yoga as it comes, entities, `persist` and `flush` for each request.
const place = process.env.BENCH_DATABASE!;
const isPostgresql = place.startsWith("postgresql:");
const orm = await SqlMikroORM.init({
  driver: (isPostgresql ? PostgreSqlDriver : SqliteDriver) as typeof SqliteDriver,
  ...(isPostgresql ? { clientUrl: place } : { dbName: place }),
  entities: [
    ...[Workspace, AccessToken, AuditEntry, Dataset, DatasetRow],
    ...[Prompt, PromptVersion, PromptTag, PromptTagMove, Trace, Log, ModelPrice],
  ],
});
if (!isPostgresql) {
  await orm.em.getConnection().execute("pragma journal_mode = wal");
  await orm.em.getConnection().execute("pragma synchronous = full");
}
const { id: workspace } = await orm.em.fork().findOneOrFail(Workspace, { name: "default" });

const typeDefs = `
  scalar JSON
  type Query { describePrompt(slug: String!): Prompt }
  type Mutation { logPrompt(input: LogPromptInput!): LogPromptPayload! }
  type Variable { label: String! type: String! description: String }
  type Prompt {
    slug: String! name: String! status: String! description: String warning: String
    availableVersions: [String!]! availableTags: [String!]! variables: [Variable!]!
  }
  input LogPromptInput {
    slug: String! input: JSON output: JSON! metadata: JSON inputTokens: Int outputTokens: Int cost: Float
  }
  type Trace { id: ID! }
  type Log { id: ID! }
  type LogPromptPayload { trace: Trace! log: Log! warning: String }
`;

async function describePrompt(_: unknown, { slug }: { slug: string }) {
  const em = orm.em.fork();
  const prompt = await em.findOneOrFail(Prompt, { slug });
  const versions = await em.find(PromptVersion, { prompt: prompt.id }, { orderBy: { id: "asc" } });
  const tags = await em.find(PromptTag, { prompt: prompt.id }, { populate: ["version"] });
  const production = tags.find(({ label }) => label === "production");
  return {
    ...{ slug, name: prompt.name, status: "live", description: prompt.description },
    availableVersions: versions.map(({ version }) => version),
    availableTags: ["latest", ...tags.map(({ label }) => label)],
    variables: production?.version.unwrap().variables ?? [],
  };
}

interface Record {
  slug: string;
  input: unknown;
  output: unknown;
  metadata: { [name: string]: unknown };
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

async function logPrompt(_: unknown, { input }: { input: Record }) {
  const em = orm.em.fork();
  const prompt = await em.findOneOrFail(Prompt, { slug: input.slug });
  const now = new Date();
  const common = { workspace, metadata: input.metadata, startTime: now, endTime: null, createdAt: now };
  const trace = em.create(Trace, {
    ...common,
    ...{ id: uuidv7(), name: input.slug, organization: null, user: null, rootId: null },
    ...{ sampleRate: null, externalId: null, sessionId: null, environment: null, experimentId: null },
    ...{ featureSlug: null, evaluators: null, idealOutput: null, input: null, output: null },
  });
  const log = em.create(Log, {
    ...common,
    ...{ id: uuidv7(), trace, type: "generation", prompt, promptSlug: input.slug, version: "1.3.0" },
    ...{ tag: "production", provider: "openai", model: "gpt-4o-mini", userId: null, organizationId: null },
    ...{ input: input.input, output: input.output, idealOutput: null, variables: null, latencyMs: null },
    ...{ inputTokens: input.inputTokens, outputTokens: input.outputTokens, cost: input.cost },
    ...{ costSource: "REPORTED", searchId: null, statusMessage: null, evaluators: null },
    ...{ aggregateUsage: null, attributes: null, events: null, status: null, externalId: null },
    ...{ parentExternalId: null, remoteParentId: null, name: null, timeToFirstTokenMs: null },
    ...{ cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null },
  });
  await em.persist([trace, log]).flush();
  return { trace, log, warning: null };
}

const schema = createSchema({ typeDefs, resolvers: { Query: { describePrompt }, Mutation: { logPrompt } } });
const server = createServer(createYoga({ schema, logging: false }));
server.listen(Number(process.env.PORT), "127.0.0.1", () => process.stdout.write("ready\n"));
process.once("SIGTERM", () => process.exit());
