import "./workspaces/graphql.ts";
import "./console/graphql.ts";
import "./inbox/graphql.ts";
import "./files/graphql.ts";
import "./datasets/graphql.ts";
import "./datasets/authoring.graphql.ts";
import "./datasets/versions.graphql.ts";
import "./prompts/graphql.ts";
import "./prompts/types.ts";
import "./prompts/reading.graphql.ts";
import "./prompts/authoring.graphql.ts";
import "./prompts/tags.graphql.ts";
import "./prompts/live.graphql.ts";
import "./logs/graphql.ts";
import "./logs/datasets.graphql.ts";
import "./logs/listing.graphql.ts";
import "./logs/trees.graphql.ts";
import "./logs/traces.graphql.ts";
import "./analytics/checkup.graphql.ts";
import "./analytics/counts.graphql.ts";
import "./analytics/graphql.ts";
import "./pricing/graphql.ts";
import "./logs/live.graphql.ts";
import "./logs/reprice.graphql.ts";
import "./logs/retention.graphql.ts";
import { lexicographicSortSchema, printSchema } from "graphql";
import { builder } from "./graphql/builder.ts";
import { suggestNoEnumValues } from "./graphql/enums.ts";
import { countLists } from "./graphql/lists.ts";
import { separateRootFields } from "./graphql/rootFieldTurns.ts";

/** The whole schema: importing a feature's graphql.ts adds it. */
export const schema = suggestNoEnumValues(
  separateRootFields(countLists(builder.toSchema({ sortSchema: true }))),
);

/** The schema in the GraphQL language, as `schema.graphql` has it. */
export const printedSchema = () => `${printSchema(lexicographicSortSchema(schema))}\n`;
