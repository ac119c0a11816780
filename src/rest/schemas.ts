import type { FastifySchemaCompiler, FastifyServerOptions } from "fastify";
import type { ZodType } from "zod";
import { badInput } from "../errors.ts";
import { detailsOf } from "../validation/messages.ts";

/** Spares loading the compilers of JSON Schema that Fastify would use. */
export const schemaController: FastifyServerOptions["schemaController"] = {
  compilersFactory: {
    // The type wants a compiler of JSON Schema; Fastify hands over what routes have, which is zod.
    buildValidator: () => validate as never,
    // The schemas of answers are for the OpenAPI document; tests, not requests, check answers against them.
    buildSerializer: () => () => JSON.stringify,
  },
};

const validate: FastifySchemaCompiler<ZodType> =
  ({ schema }) =>
  (input) => {
    const parsed = schema.safeParse(input);
    return parsed.success ? { value: parsed.data } : { error: badInput(detailsOf(parsed.error.issues)) };
  };
