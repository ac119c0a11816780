import { badInput, GabbroError } from "../errors.ts";
import { parseJson } from "../http/jsonBody.ts";

/** What a request asks for, as it came. */
export interface Parameters {
  query: string;
  variables: unknown;
  operationName: unknown;
  extensions: unknown;
}

/** What a body asks for. Throws BAD_INPUT or BAD_REQUEST when it is no request of GraphQL. */
export function toParameters(body: unknown): Parameters {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badInput([{ path: "", message: "must be an object" }]);
  }
  const { query, variables, operationName, extensions } = body as Record<string, unknown>;
  if (typeof query === "string") return { query, variables, operationName, extensions };
  throw new GabbroError("BAD_REQUEST", "The body must have the operation as a string in its member `query`.");
}

const NAMES = ["query", "variables", "operationName", "extensions"];

/**
 * The parameters of a request with GET that GraphQL knows: Yoga takes quadratic time for others. Throws BAD_REQUEST when
 * they are no JSON, which Yoga reports as an internal error.
 */
export function toQueryParameters(query: Record<string, unknown>): Record<string, unknown> {
  for (const name of ["variables", "extensions"]) {
    const value = query[name];
    if (value === undefined || value === "") continue;
    try {
      parseJson(String(value));
    } catch (error) {
      if (error instanceof GabbroError && error.code !== "BAD_JSON") throw error;
      throw new GabbroError("BAD_REQUEST", `The parameter "${name}" must be a JSON object.`);
    }
  }
  return Object.fromEntries(NAMES.flatMap((name) => (name in query ? [[name, query[name]]] : [])));
}
