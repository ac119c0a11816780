import { requestsForEachField } from "./everyField.ts";
import { get, graphql, post, type StoredData } from "./storing.ts";

const VERSIONS = 100;
const MOVES = 300;
const MOVES_AT_ONCE = 30;

/** Three bytes each. */
const long = (characters: number) => "\u8a9e".repeat(characters);
/** As much as each part takes, and 9.2 MB together. */
const CONTENT = {
  text: long(490_000),
  systemText: long(490_000),
  messages: [{ role: "user", content: long(490_000) }],
  model: { model: "m", parameters: { a: long(990_000) } },
  variables: Array.from({ length: 60 }, (_, n) => ({
    label: `v${n}`,
    type: "text",
    description: long(9_900),
  })),
};

const publish = (version: number, alias = "publishPrompt") =>
  `${alias}: publishPrompt(slug: "long", input: { newTag: "production", to: { version: "${version}" } }) { __typename }`;

/** Versions of 9 MB, whose creation the audit log repeats, and many moves of a tag between them. */
export const longVersions: StoredData = {
  name: "long versions",
  store: async (send, scale) => {
    await send(graphql('mutation { createPrompt(input: { slug: "long" }) { __typename } }'));
    const versions = Math.ceil(VERSIONS * scale);
    for (let n = 0; n < versions; n++)
      await send(
        graphql(
          'mutation ($input: PromptVersionInput!) { createPromptVersion(slug: "long", input: $input) { __typename } }',
          { input: { version: String(n), ...CONTENT } },
        ),
      );
    for (let moved = 0; moved < MOVES * scale; moved += MOVES_AT_ONCE) {
      const moves = Array.from({ length: MOVES_AT_ONCE }, (_, n) => publish((moved + n) % 2, `m${n}`));
      await send(graphql(`mutation { ${moves.join(" ")} }`));
    }
    const selected = 'slug: "long", version: "0"';
    return {
      ...requestsForEachField("prompts"),
      ...requestsForEachField("prompt", 'slug: "long"'),
      ...requestsForEachField("describePrompt", selected),
      ...requestsForEachField("servedPrompt", selected),
      ...requestsForEachField("renderPrompt", selected),
      ...requestsForEachField("promptDiff", 'slug: "long", from: "0", to: "1"'),
      ...requestsForEachField("auditLog"),
      "GET /prompts": get("/prompts"),
      "GET /prompts/:slug/describe": get("/prompts/long/describe?version=1"),
      "a log of a long version": post(
        "/monitor/log",
        JSON.stringify({ slug: "long", version: "0", input: "a", output: "b" }),
      ),
      publishPrompt: graphql(`mutation { ${publish(1)} }`),
      rollbackPromptTag: graphql(
        'mutation { rollbackPromptTag(slug: "long", input: { tag: "production" }) { __typename } }',
      ),
      deletePrompt: [graphql('mutation { deletePrompt(slug: "long") { __typename } }')],
    };
  },
};
