import { type DocumentNode, GraphQLError } from "graphql";
import { jsonSize } from "../limits/jsonSize.ts";
import { treeBytesOf } from "./documents.ts";

/** A thousand streams of prompts then hold 250 MB of different documents; equal ones share theirs. */
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
      "The document of a subscription is too large: some 500 names, brackets and other tokens are allowed. Ask for fewer fields.",
    );
  if (jsonSize(parameters, MAX_PARAMETERS) > MAX_PARAMETERS)
    return refusal(
      "BAD_INPUT",
      "The variables and extensions of a subscription have more than 16,384 characters, where each value counts 32 more.",
    );
  return undefined;
}

const refusal = (code: string, message: string) =>
  new GraphQLError(message, { extensions: { code, http: { spec: true, status: 400 } } });
