import { type DocumentNode, GraphQLError } from "graphql";
import type { ErrorCode } from "../errors.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { REFUSED_REQUEST } from "./cost.ts";
import { treeBytesOf } from "./documents.ts";

/** A thousand streams of prompts then hold 250 MB of different documents; equal documents share their tree. */
const MAX_TREE_BYTES = 256 * 1024;
const MAX_PARAMETERS = 16 * 1024;

/**
 * The error of a subscription whose document or whose variables and extensions are large; undefined for others. It holds them
 * for as long as it is open: 88 bodies of 255 kB, parsed, ended a process with a heap of 512 MB, as did 345 documents of 13 kB.
 */
export function refusalOfSize(document: DocumentNode, parameters: unknown[]): GraphQLError | undefined {
  if (treeBytesOf(document, document.loc!.source.body) > MAX_TREE_BYTES)
    return refusal(
      "QUERY_TOO_COMPLEX",
      "The document of a subscription is too large: it may have about 500 tokens and lines together. Ask for fewer fields, and send long values as variables.",
    );
  if (jsonSize(parameters, MAX_PARAMETERS) > MAX_PARAMETERS)
    return refusal(
      "BAD_INPUT",
      "The variables and extensions of a subscription have more than 16,384 characters, where each value counts 32 more.",
    );
  return undefined;
}

const refusal = (code: ErrorCode, message: string) =>
  new GraphQLError(message, { extensions: { code, http: REFUSED_REQUEST } });
