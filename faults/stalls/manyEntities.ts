import { requestsForEachField } from "./everyField.ts";
import { get, graphql, type Send, type StoredData } from "./storing.ts";

/** How many of each. */
const MANY = 60_000;
const MANY_PRICES = 990;
const AT_ONCE = 30;

const kinds = {
  prompt: (n: number) =>
    `createPrompt(input: { slug: "p${n}", featureSlug: "f${n % 2}", description: "d ${n}" }) { __typename }`,
  dataset: (n: number) =>
    `createDataset(input: { slug: "d${n}", columns: [{ name: "a", type: TEXT }] }) { __typename }`,
  token: (n: number) => `createAccessToken(input: { name: "t${n}", scopes: [READ] }) { __typename }`,
  price: (n: number) =>
    `setModelPrice(input: { model: "m${n}", inputPrice: 1, outputPrice: 1 }) { __typename }`,
  experiment: (n: number) => `createExperiment(input: { featureSlug: "f", name: "e${n}" }) { __typename }`,
};

async function create(send: Send, many: number): Promise<void> {
  for (const [name, kind] of Object.entries(kinds))
    for (let made = 0; made < (name === "price" ? MANY_PRICES : many); made += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, (_, n) => `m${n}: ${kind(made + n)}`);
      await send(graphql(`mutation { ${some.join(" ")} }`));
    }
}

/** Many prompts, datasets, tokens, prices and experiments, each with its entry in the audit log. */
export const manyEntities: StoredData = {
  name: "many entities",
  store: async (send, scale) => {
    await create(send, MANY * scale);
    return {
      ...requestsForEachField("prompts"),
      ...requestsForEachField("datasets"),
      ...requestsForEachField("accessTokens"),
      ...requestsForEachField("auditLog"),
      ...requestsForEachField("modelPrices"),
      ...requestsForEachField("checkup"),
      ...requestsForEachField("retention"),
      "prompts of a feature": graphql('{ prompts(first: 100, featureSlug: "f1") { nodes { slug } } }'),
      "prompts of no feature": graphql('{ prompts(first: 100, featureSlug: "g") { nodes { slug } } }'),
      "prompts by a filter": graphql(
        '{ prompts(first: 100, filter: { or: [{ featureSlug: ["f3", "f4"] }, { slug: ["x"] }] }) { nodes { slug } } }',
      ),
      "prompts that are not of a feature": graphql(
        '{ prompts(first: 100, filter: { not: { featureSlug: ["f0", "f1"] } }) { nodes { slug } } }',
      ),
      "prompts by a word": graphql('{ prompts(first: 100, search: "zzz") { nodes { slug } } }'),
      "datasets by a word": graphql('{ datasets(first: 100, search: "zzz") { nodes { slug } } }'),
      "prices of a model": graphql('{ modelPrices(first: 100, model: "none") { nodes { model } } }'),
      "GET /prompts": get("/prompts"),
      "GET /datasets": get("/datasets"),
    };
  },
};
