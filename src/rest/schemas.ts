import type { FastifySchemaCompiler, FastifyServerOptions } from "fastify";
import type { ZodType } from "zod";
import { badInput } from "../errors.ts";
import { detailsOf } from "../validation/messages.ts";

/** Without these Fastify would load what it brings along for JSON Schema. */
export const schemaController: FastifyServerOptions["schemaController"] = {
  compilersFactory: {
    buildValidator: () => validate as never,
    // The schemas of the answers make the OpenAPI document; the tests hold the answers to them, not every request.
    buildSerializer: () => () => JSON.stringify,
  },
};

const validate: FastifySchemaCompiler<ZodType> =
  ({ schema }) =>
  (input) => {
    const parsed = schema.safeParse(input);
    return parsed.success ? { value: parsed.data } : { error: badInput(detailsOf(parsed.error.issues)) };
  };
