/** A word that only another workspace has. */
export const THEIRS = "theirs";
/** What the payloads would add, which nobody sends. */
export const NEVER_SENT = "knowntonobodyelse";

const texts = [
  "' OR '1'='1",
  "'; drop table prompts; --",
  '" or ""="',
  "x') or 1=1 --",
  "\\' or 1=1 --",
  "%",
  "_",
  "$1",
  "?",
  ":workspace",
  "[raw]: 1=1 (#1)",
  `workspace : "x" OR input : ${THEIRS}*`,
  `NEAR(${THEIRS} ${THEIRS})`,
  `-${THEIRS}`,
  `${THEIRS}" OR "${THEIRS}`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is what is sent
  "{{7*7}} ${7*7} {% raw %}",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
];

// As JSON, because only so __proto__ is a member like any other.
const operators = [
  '{"$ne": null}',
  '{"$gt": ""}',
  '["$in"]',
  '{"$or": [{}]}',
  '{"$like": "%"}',
  '{"__proto__": {"polluted": true}}',
  '{"constructor": {"prototype": {"polluted": true}}}',
  '{"prototype": {"polluted": true}}',
];

/** What is put in place of every field: texts of SQL and of the full-text search, operators of queries, names of prototypes. */
export const payloads: unknown[] = [...texts, ...operators.map((text) => JSON.parse(text) as unknown)];

/** Fields that nobody asked for, each as the only one that is added; `id` is that of a row of another workspace. */
export function extraFields({ workspace, id }: { workspace: string; id: string }): Record<string, unknown>[] {
  const texts = [
    `{"workspace": "${workspace}"}`,
    `{"workspaceId": "${workspace}", "workspace_id": "${workspace}"}`,
    `{"id": "${id}"}`,
    '{"createdAt": "1999-01-01T00:00:00.000Z", "created_at": 0}',
    `{"__proto__": {"workspace": "${workspace}", "polluted": true}}`,
    `{"constructor": {"prototype": {"workspace": "${workspace}", "polluted": true}}}`,
    '{"prototype": {"polluted": true}}',
  ];
  return texts.map((text) => JSON.parse(text) as Record<string, unknown>);
}
