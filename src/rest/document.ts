import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import Fastify, { type RouteOptions } from "fastify";
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from "fastify-type-provider-zod";
import type { OpenAPIV3_1 } from "openapi-types";
import packageJson from "../../package.json" with { type: "json" };
import type { App } from "../http/app.ts";
import { createErrorHandler } from "../http/errorHandler.ts";
import { jsonValueSchema } from "../validation/json.ts";
import { schemaController } from "./schemas.ts";

/** Whether to serve the pages on which people try the APIs in the browser. */
export type Pages = "served" | "left out";

/** The part of a route that the document describes. */
export type DocumentedRoute = Pick<RouteOptions, "method" | "url" | "schema">;

const description = `Read prompts and datasets, add rows, record what prompts answered.
Every operation needs the header \`Authorization: Bearer <token>\`. An answer may carry a \`warning\`: a sentence that
says what was left out or not found. A body with a whole number that a double cannot hold exactly, such as 9007199254740993, is
refused, wherever it stands: send such a number as a text.`;

/** Creates a server that answers with the OpenAPI document of routes and the pages under `/docs` that show it. */
export async function createDocument(routes: DocumentedRoute[], pages: Pages): Promise<App> {
  const app: App = Fastify({ schemaController: schemaController! });
  app.setErrorHandler(createErrorHandler(() => undefined));
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Gabbro",
        version: packageJson.version,
        description,
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/" }],
      components: {
        securitySchemes: { token: { type: "http", scheme: "bearer" } },
      },
      security: [{ token: [] }],
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject: (document) =>
      withIdempotencyKeys(withoutUnused(withSchemas(document) as OpenAPIV3_1.Document)),
  });
  if (pages === "served") await showDocument(app);
  for (const route of routes) app.route({ ...route, handler: async () => {} });
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  await app.ready();
  return app;
}

async function showDocument(app: App): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    uiConfig: { layout: "BaseLayout", persistAuthorization: false, validatorUrl: null },
    staticCSP: {
      "default-src": "'self'",
      "img-src": "'self' data:",
      "style-src": "'self' 'unsafe-inline'",
      "frame-ancestors": "'none'",
    },
    theme: { title: "Gabbro: the REST interface" },
  });
}

const zodToJsonConfig = { unrepresentable: "any" } as const;
const JsonValue = jsonValueSchema as OpenAPIV3_1.SchemaObject;
const withSchemas = createJsonSchemaTransformObject({ zodToJsonConfig });

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Makes retries safe: for 24 hours the same key with the same token returns the first answer, and nothing is stored twice.",
  schema: { type: "string", pattern: "^[!-~]{1,255}$" },
} as const;

function withIdempotencyKeys(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  for (const { post } of Object.values(document.paths ?? {}) as OpenAPIV3_1.PathItemObject[])
    if (post) post.parameters = [...(post.parameters ?? []), idempotencyKey];
  return document;
}

/** Drops unused schemas: a zod schema that transforms has one JSON schema for input and one for output. */
function withoutUnused(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const text = JSON.stringify(document);
  const isUsed = ([name]: [string, unknown]) => text.includes(`"#/components/schemas/${name}"`);
  const schemas = Object.fromEntries(Object.entries(document.components?.schemas ?? {}).filter(isUsed));
  return { ...document, components: { ...document.components, schemas: { ...schemas, JsonValue } } };
}
