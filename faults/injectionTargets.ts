import type { OpenAPIV3_1 } from "openapi-types";
import type { Fixtures } from "../test/support/fixtures.ts";
import { mutationOperations, queryOperations, restOperations } from "../test/support/operations.ts";
import { type Field, fieldsOfBody, fieldsOfGraphql, parametersOf, valueAt, withValue } from "./fields.ts";

export interface Sent {
  method: string;
  path: string;
  body?: unknown;
}

interface Attack extends Sent {
  field: Field;
  payload: unknown;
}

/** An operation with all that is sent to it. */
export interface Target {
  name: string;
  isRead: boolean;
  fields: Field[];
  /** What it does by itself, to learn which rows it is to change; null where it would remove what is attacked. */
  base: Sent | null;
  attacks: Attack[];
}

/** What is put in place of a field: `share` times as many payloads as for the fields of what is written. */
export type Take = (share: number) => unknown[];

/** Queries change nothing that has to be restored. */
const SHARE_OF_QUERIES = 4;

/** Every operation of GraphQL about some fixtures. */
export function graphqlTargets(fixtures: Fixtures, extras: Record<string, unknown>[], take: Take): Target[] {
  return [...queryOperations, ...mutationOperations].map(({ name, request }) => {
    const { query, variables } = request(fixtures);
    const fields = fieldsOfGraphql(query);
    const send = (given: unknown): Sent => ({
      method: "POST",
      path: "/graphql",
      body: { query, variables: given },
    });
    const isRead = queryOperations.some((operation) => operation.name === name);
    const share = isRead ? SHARE_OF_QUERIES : 1;
    const attacks = fields.flatMap((field) => {
      // What its base did to the columns of a dataset cannot be done again.
      const [, member = ""] = field.path;
      const given = (variables.input as Record<string, unknown> | undefined)?.[member];
      const lean = { slug: variables.slug, input: { [member]: given } };
      const input = name === "updateDataset" ? lean : variables;
      return attacksOn(field, input, extras, take(share)).map((made) => ({ ...made, ...send(made.input) }));
    });
    const base = /^(?:create|delete|revoke|remove|rollback)/.test(name) ? null : send(variables);
    return { name, isRead, fields, attacks, base };
  });
}

function attacksOn(field: Field, input: unknown, extras: Record<string, unknown>[], payloads: unknown[]) {
  const replaced = payloads.map((payload) => ({
    field,
    payload,
    input: withValue(input, field, payload),
  }));
  if (!field.isObject) return replaced;
  const extended = extras.map((extra) => {
    const holder = valueAt(withValue(input, field, valueAt(input, field.path) ?? {}), field.path) as object;
    return { field, payload: extra, input: withValue(input, field, { ...holder, ...extra }) };
  });
  return [...replaced, ...extended];
}

/** Every route about some fixtures, as the OpenAPI document has them. */
export function restTargets(
  document: OpenAPIV3_1.Document,
  fixtures: Fixtures,
  extras: Record<string, unknown>[],
  take: Take,
): Target[] {
  return restOperations.map(({ name, request }) => {
    const route = name.split(" ")[1]!.replaceAll(/:(\w+)/g, "{$1}");
    const base = request(fixtures);
    const fields = fieldsOfBody(document, route, base.method.toLowerCase());
    const inBody = fields.flatMap((field) =>
      attacksOn(field, base.body, extras, take(1)).map((made) => ({ ...made, ...base, body: made.input })),
    );
    const parameters = parametersOf(document, route, base.method.toLowerCase());
    const inUrl = parameters.flatMap((parameter) => {
      const field = { path: [parameter.name], isObject: false, isText: true, holders: [] };
      return take(1).map((payload) => ({
        ...base,
        field,
        payload,
        path: urlWith(base.path, route, parameter, payload),
      }));
    });
    const all = [...fields, ...parameters.map(({ name: path }) => ({ path: [path] }) as Field)];
    return { name, isRead: base.method === "GET", fields: all, attacks: [...inBody, ...inUrl], base };
  });
}

/** The path of a request with a payload in place of one of its parameters. */
function urlWith(
  path: string,
  route: string,
  { name, in: place }: OpenAPIV3_1.ParameterObject,
  payload: unknown,
): string {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const [before, query = ""] = path.split("?");
  if (place === "path") {
    const steps = before!.split("/");
    steps[route.split("/").indexOf(`{${name}}`)] = encodeURIComponent(text);
    return `${steps.join("/")}?${query}`;
  }
  const search = new URLSearchParams(query);
  if (typeof payload === "string") search.set(name, text);
  else {
    search.append(name, text);
    search.append(`${name}[$ne]`, "");
  }
  return `${before}?${search}`;
}
