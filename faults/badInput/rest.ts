import type { OpenAPIV3_1 } from "openapi-types";
import { z } from "zod";
import { bodyOf, spoilValue } from "./bodies.ts";
import type { Sent } from "./exchange.ts";
import { oddHeaders } from "./headers.ts";
import { type Material, oddText, oddValue } from "./material.ts";
import { type Known, plausibleMoment, plausibleNumber, plausibleObject, plausibleText } from "./plausible.ts";

type Schema = OpenAPIV3_1.SchemaObject;

export interface Operation {
  method: string;
  path: string;
  parameters: OpenAPIV3_1.ParameterObject[];
  body: Schema | undefined;
  /** The schema of the answer for each status that the document names. */
  answers: Map<number, z.ZodType | null>;
}

/** The operations of an OpenAPI document. */
export function operationsOf(document: OpenAPIV3_1.Document): Operation[] {
  const whole = unfolded(document, document) as OpenAPIV3_1.Document;
  return Object.entries(whole.paths!).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OpenAPIV3_1.OperationObject>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: (operation.parameters ?? []) as OpenAPIV3_1.ParameterObject[],
      body: schemaIn(operation.requestBody as OpenAPIV3_1.RequestBodyObject | undefined),
      answers: new Map([[304, null], ...Object.entries(operation.responses!).map(answerOf)]),
    })),
  );
}

function answerOf([status, response]: [string, unknown]): [number, z.ZodType | null] {
  const schema = schemaIn(response as OpenAPIV3_1.ResponseObject);
  return [Number(status), schema ? z.fromJSONSchema(schema as never) : null];
}

function schemaIn(
  holder: { content?: Record<string, { schema?: unknown }> } | undefined,
): Schema | undefined {
  return holder?.content?.["application/json"]?.schema as Schema | undefined;
}

/** A part of the document with what it refers to put in its place. */
function unfolded(part: unknown, document: object): unknown {
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map((item) => unfolded(item, document));
  if ("allOf" in part) {
    const { allOf, ...own } = part as { allOf: object[] };
    return unfolded(Object.assign(own, ...allOf), document);
  }
  if ("$ref" in part) {
    if (part.$ref === "#/components/schemas/JsonValue") return {}; // any JSON, which has JSON in it again
    const steps = (part.$ref as string).split("/").slice(1);
    return unfolded(
      steps.reduce((within, step) => within[step] as never, document as Record<string, unknown>),
      document,
    );
  }
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, unfolded(value, document)]));
}

/** A value such as a schema asks for, under a name that says more. */
export function valueFor(material: Material, schema: Schema, name: string, known: Known): unknown {
  const { anyOf, enum: values } = schema;
  if (values) return material.oneOf(values);
  if (anyOf) return valueFor(material, material.oneOf(anyOf as Schema[]), name, known);
  const type = Array.isArray(schema.type) ? material.oneOf(schema.type) : schema.type;
  if (/Time$/.test(name)) return plausibleMoment(material);
  if (type === "string") return plausibleText(material, name, known);
  if (type === "number" || type === "integer") return plausibleNumber(material);
  if (type === "boolean") return material.chance(0.5);
  if (type === "null") return null;
  if (type === "array") {
    const { items } = schema as OpenAPIV3_1.ArraySchemaObject;
    return material.some(3, () => valueFor(material, items as Schema, name, known));
  }
  if (type !== "object") return material.chance(0.3) ? oddValue(material) : material.json();
  if (!schema.properties) return plausibleObject(material);
  const members = Object.entries(schema.properties).filter(
    ([key]) => schema.required?.includes(key) || material.chance(0.4),
  );
  return Object.fromEntries(
    members.map(([key, member]) => [key, valueFor(material, member as Schema, key, known)]),
  );
}

export interface RestCase extends Sent {
  /** The operation it is meant for; none when the method or the path is not that of one. */
  operation: Operation | null;
}

const otherMethods = [
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "HEAD",
  "PROPFIND",
  "QUERY",
  "GET",
  "POST",
];
const oddPaths = [
  "/",
  "//",
  "/%00",
  "/%ff",
  "/%",
  "/*",
  "/..",
  "/datasets/",
  "/datasets//items",
  "/prompts/%2e%2e/describe",
  "/prompts/a/b/c",
  "/DATASETS",
  "/monitor/log/",
  "/docs/json",
  "/docs/static/../../../package.json",
  "/docs/static/%2e%2e%2fpackage.json",
  "/openapi.json?x=[]",
  "/health?__proto__=1",
  "http://other.example/datasets",
  "*",
];

/** A request of REST as the document asks for, and in most cases with something wrong with it. */
export function restCase(material: Material, operations: Operation[], known: Known): RestCase {
  const operation = material.oneOf(operations);
  const value = operation.body && valueFor(material, operation.body, "", known);
  const body =
    value === undefined ? null : bodyOf(material, material.chance(0.4) ? spoilValue(material, value) : value);
  const path = pathOf(material, operation, known);
  const isOther = material.chance(0.04);
  const headers = oddHeaders(material, body);
  if (!isOther) return { operation, method: operation.method, path, headers, body };
  const method = material.oneOf(otherMethods);
  return {
    operation: null,
    method,
    path: material.chance(0.5) ? path : material.oneOf(oddPaths),
    headers,
    body,
  };
}

function pathOf(material: Material, { path, parameters }: Operation, known: Known): string {
  const segment = (name: string) => escaped(material, plausibleText(material, name, known));
  const way = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name) || "x");
  const asked = parameters.filter((one) => one.in === "query" && material.chance(0.5));
  const pairs = asked.map(({ name }) => `${name}=${segment(name)}`);
  if (material.chance(0.05)) pairs.push(material.oneOf(oddPairs(material)));
  return pairs.length > 0 ? `${way}?${pairs.join("&")}` : way;
}

const oddPairs = (material: Material) => [
  "version=1&version=2",
  "version[]=1",
  "version[a]=1",
  "__proto__=1&constructor=2",
  "&&&=&=",
  "tag=%ff%fe",
  "tag=%",
  "slug=other",
  `${escaped(material, oddText(material))}=1`,
  "a=1&".repeat(2_000),
];

/** As a part of a URL; sometimes with bytes that are no UTF-8, or not escaped where it should be. */
export function escaped(material: Material, text: string): string {
  const cut = text.slice(0, 1_200).toWellFormed();
  if (material.chance(0.03))
    return material.oneOf(["%ff", "%c3%28", "%", "%zz", "%00", "%ed%a0%80", "+", ";", "a%2Fb"]);
  return encodeURIComponent(cut);
}
