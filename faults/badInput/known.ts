import { buildClientSchema, type GraphQLSchema, getIntrospectionQuery } from "graphql";
import { headers } from "../gateway.ts";
import { exchange } from "./exchange.ts";
import type { Known } from "./plausible.ts";
import { type Operation, operationsOf } from "./rest.ts";

/** What a gateway says that it can be asked, by REST and by GraphQL. */
export async function readInterface(
  url: string,
): Promise<{ operations: Operation[]; schema: GraphQLSchema }> {
  const document = await call(`${url}/openapi.json`);
  const { data } = await call(`${url}/graphql`, { query: getIntrospectionQuery() });
  return { operations: operationsOf(document), schema: buildClientSchema(data) };
}

const REMOVE = `mutation ($slug: String!) {
  deletePrompt(slug: $slug) { deletedPromptId }
  deleteDataset(slug: $slug) { deletedDatasetId }
}`;
const MAKE = `mutation ($slug: String!) {
  createPrompt(input: { slug: $slug }) { prompt { slug } }
  a: createPromptVersion(slug: $slug, input: { version: "1.0.0", text: "Hello {{ a }}" }) { warnings { message } }
  b: createPromptVersion(
    slug: $slug
    input: { version: "2.0.0", text: "Hello {{ b }}", model: { model: "gpt-4o", provider: "openai" } }
  ) { warnings { message } }
  publishPrompt(slug: $slug, input: { newTag: "production", to: { version: "1.0.0" } }) { promptTag { id } }
  createDataset(input: { slug: $slug, columns: [{ name: "a", type: TEXT }, { name: "b", type: JSON }] }) { dataset { slug } }
  addDatasetItem(slug: $slug, input: { values: { a: "1" } }) { datasetRow { id } }
  logPrompt(input: { slug: $slug, input: "Nairobi", output: "Nairobi" }) { log { id } trace { id } }
}`;

/** Makes the prompts and datasets that cases ask for anew, as the cases before may have changed or removed them. */
export async function prepareKnown(url: string, known: Known): Promise<void> {
  const ids: string[] = [];
  for (const slug of known.slugs) {
    const variables = { slug };
    await call(`${url}/graphql`, { query: REMOVE, variables });
    const made = JSON.stringify(await call(`${url}/graphql`, { query: MAKE, variables }));
    ids.push(...Array.from(made.matchAll(/"id":"([\w-]+)"/g), ([, id]) => id!));
  }
  known.ids = ids;
}

// biome-ignore lint/suspicious/noExplicitAny: answers have every shape
async function call(url: string, asked?: object): Promise<any> {
  const { pathname } = new URL(url);
  const answer = await exchange(url, {
    method: asked ? "POST" : "GET",
    path: pathname,
    headers,
    body: asked ? Buffer.from(JSON.stringify(asked)) : null,
  });
  return JSON.parse(answer.body);
}
