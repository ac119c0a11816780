/** The access token that the recorded databases have. */
export const TOKEN = "a token of the recorded databases";

/** What each release is asked when it is recorded, and each later one after it has opened the database. */
export const paths = [
  ...[
    "/prompts",
    "/prompts/greeting/describe",
    "/prompts/greeting?version=1.0.0",
    "/prompts/greeting?tag=production",
  ],
  ...["/prompts/plain/describe", "/datasets", "/datasets/quiz"],
];

export const queries = [
  `{ logs(first: 20) { nodes { id prompt { slug } version tag input output inputTokens outputTokens cost costSource
    startTime endTime latencyMs metadata } } }`,
  '{ logs(first: 20, filter: { text: "Nairobi" }) { nodes { id } } }',
  '{ usage(from: "2026-11-01T00:00:00Z", to: "2026-12-01T00:00:00Z", groupBy: DAY) { nodes { key logs inputTokens outputTokens cost } } }',
  "{ prompts(first: 9) { nodes { slug versions(first: 9) { nodes { version text createdAt variables { label } } } } } }",
  '{ dataset(slug: "quiz") { rowCount rows(first: 9) { nodes { id key values idealOutput metadata } } } }',
  "{ accessTokens(first: 9) { nodes { name scopes } } }",
  "{ auditLog(first: 9) { nodes { action subject } } }",
];
