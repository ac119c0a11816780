import type { GraphQLSchema } from "graphql";
import { bodyOf, spoilValue } from "./bodies.ts";
import { drawDocument } from "./documents.ts";
import type { Sent } from "./exchange.ts";
import { oddHeaders } from "./headers.ts";
import { type Material, oddText, oddValue } from "./material.ts";
import type { Known } from "./plausible.ts";
import { escaped } from "./rest.ts";

const MAX_URL_CHARACTERS = 12_000;

/** A request to `/graphql`: a document that was drawn from the schema, by POST or GET, in a body as it should be or not. */
export function graphqlCase(material: Material, schema: GraphQLSchema, known: Known): Sent {
  const { query, variables } = drawDocument(material, schema, known);
  if (material.chance(0.08)) return byGet(material, { query, variables });
  const body: Record<string, unknown> = { query, variables };
  if (material.chance(0.1)) Object.assign(body, more(material));
  const spoilt = material.chance(0.03) ? spoilValue(material, body) : body;
  const value = material.chance(0.02) ? material.oneOf([[body], [body, body], null, query]) : spoilt;
  const sent = bodyOf(material, value);
  return { method: "POST", path: "/graphql", headers: oddHeaders(material, sent), body: sent };
}

/** Members of the body beside the document. */
const more = (material: Material) =>
  material.oneOf<object>([
    { operationName: material.oneOf(["Named", "Nope", "", null, 5, {}, oddText(material)]) },
    { extensions: oddValue(material) },
    { extensions: { persistedQuery: { version: 1, sha256Hash: "x" } } },
    { variables: oddValue(material) },
    { variables: { nope: oddValue(material) } },
    { query: oddValue(material) },
    { query: undefined },
    { id: "1", documentId: "x", onError: "HALT" },
  ]);

function byGet(material: Material, { query, variables }: { query: string; variables: object }): Sent {
  const parameters = [
    `query=${encodeURIComponent(query.slice(0, 3_000).toWellFormed())}`,
    `variables=${encodeURIComponent(JSON.stringify(variables).slice(0, 3_000).toWellFormed())}`,
  ];
  if (material.chance(0.3)) parameters.push(material.oneOf(oddParameters(material)));
  const path = `/graphql?${parameters.join("&")}`.slice(0, MAX_URL_CHARACTERS);
  const headers = oddHeaders(material, null);
  return { method: material.chance(0.1) ? "HEAD" : "GET", path, headers, body: null };
}

const oddParameters = (material: Material) => [
  "query=",
  "query[]=1",
  "variables=[]",
  "variables=1e999",
  "variables={}",
  `variables=${"[".repeat(3_000)}${"]".repeat(3_000)}`,
  `variables=${'%7B"a":'.repeat(500)}1${"%7D".repeat(500)}`,
  `extensions=${escaped(material, oddText(material))}`,
  `operationName=${escaped(material, oddText(material))}`,
  "operationName=Named&operationName=Named",
  "__proto__[a]=1",
  "query=%ff",
];
