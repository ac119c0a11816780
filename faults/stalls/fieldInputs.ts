import type { OpenAPIV3_1 } from "openapi-types";
import type { Fixtures } from "../../test/support/fixtures.ts";
import { graphqlOperations, restOperations } from "../../test/support/operations.ts";
import { fieldsOfBody, fieldsOfGraphql, parametersOf, withValue } from "../fields.ts";
import {
  BOTH,
  type Caller,
  callers,
  fillJson,
  fillPath,
  headersOf,
  here,
  type Input,
  MAX_BODY_BYTES,
  MAX_HEAD_BYTES,
  MAX_HEAD_CPU_MS,
  maxCpuMs,
  pathHere,
} from "./inputs.ts";

const EVENTS = { accept: "text/event-stream" };

/** Every field of the variables of every operation, and the arguments that a document can hold itself. */
export function graphqlInputs(fixtures: Fixtures): Input[] {
  return graphqlOperations.flatMap(({ name, request }) => {
    const { query, variables } = request(fixtures);
    const fields = fieldsOfGraphql(query);
    const more = query.startsWith("subscription") ? EVENTS : {};
    return fields.flatMap((field) => {
      const [, member = ""] = field.path;
      const { input } = variables as { input?: Record<string, unknown> };
      // What its base did to the columns of a dataset cannot be done again.
      const lean = { slug: variables.slug, input: { [member]: input?.[member] } };
      const given = withValue(name === "updateDataset" ? lean : variables, field, here);
      return callers.map((caller): Input => {
        const fill = fillJson({ query, variables: given });
        return {
          name: `${name} ${field.path.join(".")}, ${caller}`,
          area: "variables of GraphQL",
          limit: MAX_BODY_BYTES,
          maxCpuMs: maxCpuMs(caller),
          kinds: BOTH,
          fill: (...shaped) => ({
            ...{ method: "POST", path: "/graphql", headers: headersOf(caller, more) },
            body: fill(...shaped),
          }),
        };
      });
    });
  });
}

/** Every field of the bodies, paths and queries of every route, as the OpenAPI document has them. */
export function restInputs(document: OpenAPIV3_1.Document, fixtures: Fixtures): Input[] {
  return restOperations.flatMap(({ name, request }) => {
    const route = name.split(" ")[1]!.replaceAll(/:(\w+)/g, "{$1}");
    const { method, path, body } = request(fixtures);
    const ofBody = fieldsOfBody(document, route, method.toLowerCase()).flatMap((field) => {
      const fill = fillJson(withValue(body, field, here));
      return [...callers, "with a key" as const].map(
        (caller): Input => ({
          name: `${name} ${field.path.join(".") || "body"}, ${caller}`,
          area: "bodies of REST",
          limit: MAX_BODY_BYTES,
          maxCpuMs: maxCpuMs(caller),
          kinds: BOTH,
          fill: (shape, size, n) => ({
            ...{ method, path, headers: headersOf(caller, {}, n) },
            body: fill(shape, size, n),
          }),
        }),
      );
    });
    const ofUrl = parametersOf(document, route, method.toLowerCase()).flatMap((parameter) => {
      const fill = fillPath(urlWith(path, route, parameter));
      return callers.map((caller) => urlInput(`${name} ${parameter.name}`, caller, fill));
    });
    return [...ofBody, ...ofUrl];
  });
}

function urlWith(path: string, route: string, { name, in: place }: OpenAPIV3_1.ParameterObject): string {
  const [before, query = ""] = path.split("?");
  if (place === "path") {
    const steps = before!.split("/");
    steps[route.split("/").indexOf(`{${name}}`)] = pathHere;
    return `${steps.join("/")}?${query}`;
  }
  const search = new URLSearchParams(query);
  search.delete(name);
  return `${before}?${name}=${pathHere}&${search}`;
}

/** A request with GET whose address grows. */
export function urlInput(name: string, caller: Caller, fill: ReturnType<typeof fillPath>): Input {
  return {
    name: `${name}, ${caller}`,
    area: "paths and query strings",
    limit: MAX_HEAD_BYTES,
    maxCpuMs: MAX_HEAD_CPU_MS,
    kinds: BOTH,
    fill: (shape, size) => {
      const { "content-type": _, ...headers } = headersOf(caller);
      return { method: "GET", path: fill(shape, size), headers, body: null };
    },
  };
}
