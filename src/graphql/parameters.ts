import { badInput, GabbroError } from "../errors.ts";
import { parseJson } from "../http/jsonBody.ts";

/** The parameters of a GraphQL request, not validated yet. */
export interface Parameters {
  query: string;
  variables: unknown;
  operationName: unknown;
  extensions: unknown;
}

/** The parameters in a body. Throws BAD_INPUT or BAD_REQUEST when it is no GraphQL request. */
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
 * The GraphQL parameters of a GET request. Leaves others out, for which Yoga takes quadratic time. Throws BAD_REQUEST for
 * invalid JSON, which Yoga would report as an internal error.
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
