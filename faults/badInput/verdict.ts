import { z } from "zod";
import { type ErrorCode, errorStatus } from "../../src/errors.ts";
import { errorBody } from "../../src/rest/errorResponses.ts";
import type { Answer } from "./exchange.ts";

const graphqlError = z.strictObject({
  message: z.string().min(1),
  locations: z.array(z.strictObject({ line: z.int(), column: z.int() })).optional(),
  path: z.array(z.union([z.string(), z.int()])).optional(),
  extensions: z.looseObject({
    code: z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]),
    details: errorBody.shape.details,
  }),
});
const graphqlAnswer = z.strictObject({
  data: z.record(z.string(), z.unknown()).nullable().optional(),
  errors: z.array(graphqlError).min(1).optional(),
});
const restError = errorBody.strict();
const otlpAnswer = z.union([
  z.strictObject({ code: z.int(), message: z.string().min(1) }),
  z.strictObject({ partialSuccess: z.looseObject({}).optional() }),
]);

/** What would show the insides of the server. */
const INSIDES = /node_modules|SQLITE_|\.ts:\d|\n\s+at |Cannot read prop|is not a function/;

/** What is wrong with an answer of REST; nothing when it is as documented. */
export function faultOfRest(answer: Answer, documented?: Map<number, z.ZodType | null>): string | undefined {
  const { method, status, headers, body } = answer;
  if (status >= 500) return `is answered ${status}`;
  if (documented && !documented.has(status)) return `is answered ${status}, which is not documented`;
  if (status === 304 || method === "HEAD") return undefined;
  if (!documented && method === "POST" && isOtlp(headers)) return faultOfOtlp(answer);
  if (status === 200 && headers["content-type"] === "text/event-stream; charset=utf-8") return undefined; // only begun
  if (!/^application\/json; charset=utf-8$/.test(headers["content-type"] ?? ""))
    return "is not answered in JSON";
  const answered = parsed(body);
  if (answered === undefined) return "is answered with JSON that is none";
  const wrong = documented?.get(status)?.safeParse(answered).error;
  if (wrong) return `is not answered as documented: ${wrong.message}`;
  return status >= 400 ? faultOfError(answer, answered) : undefined;
}

/** `POST /` takes OTLP, which names no charset and has answers of its own form. */
const isOtlp = (headers: Answer["headers"]) =>
  /^application\/(?:json|x-protobuf)$/.test(headers["content-type"] ?? "");

function faultOfOtlp({ headers, body }: Answer): string | undefined {
  if (INSIDES.test(body)) return `shows insides: ${body}`;
  if (headers["content-type"] === "application/x-protobuf") return undefined;
  const wrong = otlpAnswer.safeParse(parsed(body)).error;
  return wrong && `is not answered in the form of OTLP: ${wrong.message}`;
}

function faultOfError({ status, headers }: Answer, answered: unknown): string | undefined {
  const error = restError.safeParse(answered);
  if (!error.success) return `is refused in another form than the documented one: ${error.error.message}`;
  if (errorStatus[error.data.code] !== status)
    return `is answered ${status} with the code ${error.data.code}`;
  if (INSIDES.test(error.data.error)) return `shows insides: ${error.data.error}`;
  if (status === 401 && headers["www-authenticate"] !== "Bearer") return "does not say how to authenticate";
  if (status === 405 && !headers.allow) return "does not say which methods there are";
  return undefined;
}

const HEADERS_TOO_LARGE = 431;

/** What is wrong with an answer of GraphQL. */
export function faultOfGraphql(answer: Answer): string | undefined {
  const { method, status, headers, body } = answer;
  if (status >= 500) return `is answered ${status}`;
  if (method === "HEAD") return undefined;
  if (status === HEADERS_TOO_LARGE) return faultOfRest(answer); // Node.js stops before it knows the path
  const type = headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream") || (status < 400 && type.startsWith("text/html")))
    return undefined;
  if (!/^application\/(?:graphql-response\+)?json; charset=utf-8$/.test(type))
    return `is answered in ${type}`;
  const answered = graphqlAnswer.safeParse(parsed(body));
  if (!answered.success)
    return `is answered in another form than the documented one: ${answered.error.message}`;
  const { data, errors = [] } = answered.data;
  if (errors.length === 0 && (status !== 200 || data === undefined)) return "is refused without an error";
  const ours = errors.find(({ extensions: { code } }) => errorStatus[code] >= 500);
  if (ours) return `is answered with ${ours.extensions.code}: ${ours.message}`;
  const inside = errors.find(({ message }) => INSIDES.test(message));
  return inside && `shows insides: ${inside.message}`;
}

/** Whether an answer of either API has no error in it. */
export function isAccepted({ status, body }: Answer): boolean {
  return status < 400 && !body.includes('"errors":[{"message":');
}

/** What is wrong with all that came back for bytes that may be no HTTP. */
export function faultOfBytes(received: string): string | undefined {
  for (const answer of answersIn(received)) {
    const isGraphql = answer.body.startsWith('{"errors"') || answer.body.startsWith('{"data"');
    const fault = isGraphql ? faultOfGraphql(answer) : faultOfRest(answer);
    if (fault) return fault;
  }
  return undefined;
}

/** Every answer in what a connection gave, one behind the other. */
export function answersIn(received: string): Answer[] {
  const answers: Answer[] = [];
  for (let rest = received; rest !== ""; ) {
    const [head = "", ...more] = rest.split("\r\n\r\n");
    const [line = "", ...fields] = head.split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? Number.NaN);
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(":")).toLowerCase(),
        field.slice(field.indexOf(":") + 2),
      ]),
    );
    const after = more.join("\r\n\r\n");
    const length = Number(headers["content-length"] ?? 0);
    const isChunked = headers["transfer-encoding"] === "chunked";
    const body = isChunked ? "" : after.slice(0, length);
    if (Number.isNaN(status)) answers.push({ method: "?", status: 599, headers: {}, body: rest });
    else if (status >= 200)
      answers.push({ method: isChunked ? "HEAD" : "?", status, headers, body: utf8(body) });
    if (Number.isNaN(status) || isChunked) return answers;
    rest = after.slice(length);
  }
  return answers;
}

const utf8 = (bytes: string) => Buffer.from(bytes, "latin1").toString("utf8");

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
