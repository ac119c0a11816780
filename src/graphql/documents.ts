import { type DocumentNode, GraphQLError, parse, specifiedRules, validate } from "graphql";
import type { Plugin } from "graphql-yoga";
import { LRUCache } from "lru-cache";
import { keyOfText } from "../limits/longTexts.ts";
import { schema } from "../schema.ts";
import { REFUSED_REQUEST } from "./cost.ts";
import { withinLimits } from "./limits.ts";

export const MAX_TOKENS = 5_000;
/** Longer values belong in variables. */
export const MAX_CHARACTERS = 250_000;
/**
 * graphql-js counts the lines before each of its errors, and an operation may have thousands of errors: with 100,000 lines, a
 * hundred of them take 0.9 s.
 */
export const MAX_LINES = 2_000;
/** Bounded, as each error may repeat the document's text. */
export const MAX_ERRORS = 5;

const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/** The size of a parsed document, measured with 5,000 tokens. */
const BYTES_PER_TOKEN = 500;
/** A comment is a token that `tokenCount` leaves out; there is one in a line at most. */
const BYTES_PER_LINE = 500;

/** Valid documents by the `keyOfText` of their text, up to 32 MB of trees. Invalid ones are not cached, as their errors hold stacks. */
export type DocumentCache = LRUCache<string, DocumentNode>;

export function createDocumentCache(): DocumentCache {
  return new LRUCache({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: (document) => treeBytesOf(document, document.loc!.source.body),
  });
}

/** About what a parsed document takes in memory, with its text. */
export function treeBytesOf({ tokenCount = MAX_TOKENS }: DocumentNode, text: string): number {
  return 2 * text.length + tokenCount * BYTES_PER_TOKEN + countLines(text) * BYTES_PER_LINE;
}

/** Parses and validates documents within the limits, except valid ones that are cached. */
export function useDocuments(cache: DocumentCache): Plugin {
  return {
    onParse: ({ params, setParsedDocument, setParseFn }) => {
      const cached = cache.get(keyOfText(String(params.source)));
      if (cached) setParsedDocument(cached);
      else setParseFn(parseDocument);
    },
    onValidate: ({ params, setValidationFn }) => {
      const document = params.documentAST as DocumentNode;
      const key = keyOfText(document.loc!.source.body);
      if (cache.peek(key) === document) setValidationFn(() => []);
      else setValidationFn(() => validateDocument(document));
      return ({ valid }) => {
        if (valid) cache.set(key, document);
      };
    },
  };
}

/**
 * At most one error of variables, as graphql-js writes the whole value into each. No suggestions: graphql-js makes four
 * arrays of the length of the value for them, which takes 0.7 s and 320 MB for 10 MB.
 */
export const EXECUTION_OPTIONS = { hideSuggestions: true, options: { maxCoercionErrors: 1 } };
/** Above this length suggestions are hidden for documents as well. */
const MAX_CHARACTERS_WITH_SUGGESTIONS = 100_000;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

const PARSE_FAILED = { code: "GRAPHQL_PARSE_FAILED", http: REFUSED_REQUEST };

/** Parses at most 250,000 characters, 2,000 lines and 5,000 tokens; throws a GraphQLError. */
export function parseDocument(text: string): DocumentNode {
  if (text.length > MAX_CHARACTERS)
    throw tooLong(`${text.length} characters; at most ${MAX_CHARACTERS} are allowed`);
  if (countLines(text) > MAX_LINES) throw tooLong(`more than ${MAX_LINES} lines`);
  try {
    return parse(text, { maxTokens: MAX_TOKENS });
  } catch (error) {
    if (error instanceof GraphQLError) Object.assign(error.extensions, PARSE_FAILED);
    throw error;
  }
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === LINE_FEED || (character === CARRIAGE_RETURN && text.charCodeAt(at + 1) !== LINE_FEED))
      lines += 1;
  }
  return lines;
}

const tooLong = (reason: string) =>
  new GraphQLError(`The document has ${reason}. Send long values as variables.`, {
    extensions: { code: "QUERY_TOO_COMPLEX", http: REFUSED_REQUEST },
  });

/**
 * The errors of a document, at most five. The limits come first: some rules of GraphQL compare fields pair by pair, which
 * is only cheap within them.
 */
export function validateDocument(document: DocumentNode): readonly GraphQLError[] {
  const beyond = validate(schema, document, [withinLimits]);
  if (beyond.length > 0) return beyond;
  const hideSuggestions = document.loc!.end > MAX_CHARACTERS_WITH_SUGGESTIONS;
  return validate(schema, document, specifiedRules, { maxErrors: MAX_ERRORS, hideSuggestions });
}
