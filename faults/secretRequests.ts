import type { Fixtures } from "../test/support/fixtures.ts";
import { mutationOperations, queryOperations, restOperations } from "../test/support/operations.ts";

/** In every payload that is sent. */
export const PAYLOAD = "kanarienvogel";

export interface Request {
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

const json = { "content-type": "application/json" };
const post = (path: string, body: string, headers: Record<string, string> = {}): Request => ({
  path,
  method: "POST",
  headers: { ...json, ...headers },
  body,
});
const get = (path: string, headers: Record<string, string> = {}): Request => ({
  path,
  method: "GET",
  headers,
});
const graphql = (query: string, variables: unknown = {}, more: object = {}): Request =>
  post("/graphql", JSON.stringify({ query, variables, ...more }));

/** Every operation about some fixtures but subscriptions, with the payload in all that it stores. */
export function everyOperation(fixtures: Fixtures): Request[] {
  const withPayload = (request: object) =>
    JSON.stringify(request).replaceAll(/"(?:one|two|three|Amina|Hello)"/g, `"${PAYLOAD}"`);
  const rest = restOperations.map(({ request }) => {
    const { method, path, body } = request(fixtures);
    return body ? post(path, withPayload(body)) : { ...get(path), method };
  });
  const operations = [...queryOperations, ...mutationOperations];
  const search = graphql('{ logs(filter: { text: "kanarienvogel bird*" }) { nodes { id } } }');
  return [
    ...rest,
    ...operations.map(({ request }) => post("/graphql", withPayload(request(fixtures)))),
    search,
  ];
}

const TOO_LARGE = 10 * 1024 * 1024 + 1;

/** What is refused before it is an operation, with the payload in it. */
export function refusals(fixtures: Fixtures): Request[] {
  const { log } = fixtures;
  const asMutation = "mutation($i: LogPromptInput!) { logPrompt(input: $i) { warning } }";
  const nested = `{ ${"a { ".repeat(20)} ${PAYLOAD} ${"}".repeat(20)} }`;
  const parameters = new URLSearchParams({ query: "{ __typename }", variables: `{"${PAYLOAD}` });
  return [
    post("/monitor/log", `{"slug": "${PAYLOAD}", "output": ${PAYLOAD}`),
    post("/graphql", `{"query": "${PAYLOAD}`),
    post("/monitor/log", PAYLOAD.repeat(Math.ceil(TOO_LARGE / PAYLOAD.length))),
    post("/monitor/log", PAYLOAD, { "content-type": "text/plain" }),
    post("/monitor/log", PAYLOAD, { "content-encoding": PAYLOAD }),
    post("/monitor/log", JSON.stringify({ slug: { [PAYLOAD]: PAYLOAD }, output: PAYLOAD, cost: PAYLOAD })),
    post("/monitor/log", `{"slug": "x", "output": 1, "${PAYLOAD}": 12345678901234567890, "__proto__": 1}`),
    post(`/datasets/${PAYLOAD}/items`, JSON.stringify({ values: PAYLOAD })),
    post("/health", PAYLOAD),
    get(`/${PAYLOAD}?${PAYLOAD}=${PAYLOAD}`),
    get(`/graphql/assets/${PAYLOAD}`),
    get(`/docs/static/${PAYLOAD}`),
    get(`/datasets/%E0%A4%A${PAYLOAD}`),
    get(`/prompts/${PAYLOAD}/describe?version=${PAYLOAD}&tag=${PAYLOAD}&${PAYLOAD}=1`),
    get(`/graphql?${parameters}`),
    get(`/graphql?query=${encodeURIComponent(`{ ${PAYLOAD}`)}`),
    get(`/graphql?query=${encodeURIComponent(`mutation { ${PAYLOAD} }`)}`),
    { path: `/prompts/${PAYLOAD}`, method: "DELETE", headers: {} },
    { path: `/monitor/log?${PAYLOAD}`, method: "PUT", headers: json, body: PAYLOAD },
    graphql(`{ dataset(slug: "${PAYLOAD}" "${PAYLOAD}") { slug } }`),
    graphql(`{ dataset(slug: "${PAYLOAD}`),
    graphql(`{ dataset(slug: "\\u${PAYLOAD}") { slug } }`),
    graphql(`{ dataset(slug: """${PAYLOAD}""") { ${PAYLOAD} } ${PAYLOAD} { x } }`),
    graphql(`query { dataset(${PAYLOAD}: 1) { slug } ...${PAYLOAD} }`),
    graphql(`{ log(id: "${PAYLOAD}") { id } usage(from: "${PAYLOAD}", to: 1) { nodes { logs } } }`),
    graphql(`query($${PAYLOAD}: ${PAYLOAD}!) { dataset(slug: $${PAYLOAD}) { slug } }`),
    graphql(asMutation, { i: PAYLOAD }),
    graphql(asMutation, { i: { slug: "x", output: 1, [PAYLOAD]: PAYLOAD, cost: PAYLOAD } }),
    graphql(asMutation, PAYLOAD),
    graphql(asMutation, { i: { slug: "x", output: 1 } }, { operationName: PAYLOAD }),
    graphql("query($first: Int) { logs(first: $first) { nodes { id } } }", { first: PAYLOAD }),
    graphql("{ logs(first: 1e9999, filter: { type: kanarienvogel }) { nodes { id } } }"),
    graphql(nested),
    graphql(`{ ${PAYLOAD} }`.repeat(2_000)),
    post("/graphql", JSON.stringify([{ query: PAYLOAD }])),
    post("/graphql", JSON.stringify({ query: `{ log(id: "${log}") { id } }`, extensions: PAYLOAD })),
    post("/graphql", JSON.stringify({ query: "subscription { logAdded { id } }" }), { accept: PAYLOAD }),
    post("/monitor/log", JSON.stringify({ slug: "x", output: 1 }), {
      "idempotency-key": `${PAYLOAD} x`,
    }),
    post("/monitor/log", JSON.stringify({ slug: "x", output: 1 }), { "idempotency-key": PAYLOAD.repeat(30) }),
    ...["{% for", "{{ name | nothing }}", "{{ 1.x }}", "{% for x in range(9999999) %}x{% endfor %}"].map(
      (text) =>
        graphql(mutationNamed("createPromptVersion"), {
          slug: fixtures.prompt,
          input: { version: `${PAYLOAD}${text.length}`, text: `${text} ${PAYLOAD}` },
        }),
    ),
  ];
}

function mutationNamed(wanted: string): string {
  const { request } = mutationOperations.find(({ name }) => name === wanted)!;
  return request({} as Fixtures).query;
}

let keys = 0;

/** The same requests that write, each with an idempotency key. */
export function keyed(requests: Request[]): Request[] {
  const some = requests.filter(({ method }) => method === "POST");
  return some.map((request) => {
    keys += 1;
    return { ...request, headers: { ...request.headers, "idempotency-key": `${PAYLOAD}-${keys}` } };
  });
}

const isGenerated = (token: string) => token.startsWith("gab_");

/** Ways to send a token: the right one, and wrong ones. */
export function waysToSend(token: string): ((request: Request) => Request)[] {
  const withHeader = (headers: Record<string, string>) => (request: Request) => ({
    ...request,
    headers: { ...request.headers, ...headers },
  });
  const encoded = Buffer.from(`user:${token}`).toString("base64");
  return [
    withHeader({ authorization: `Bearer ${token}` }),
    withHeader({ authorization: `Bearer ${token} and more` }),
    withHeader({ authorization: `Token ${token}` }),
    withHeader({ authorization: `Basic ${encoded}` }),
    withHeader({ authorization: token }),
    withHeader({ "x-api-key": token, cookie: `token=${token}`, "user-agent": token }),
    // A token that somebody chose has any form, so it may look like an id of theirs.
    withHeader(isGenerated(token) ? { "x-request-id": token, "x-correlation-id": token } : {}),
    withHeader({
      referer: `http://localhost/?token=${token}`,
      origin: `http://${token}`,
      "proxy-authorization": token,
    }),
    (request) => ({
      ...request,
      path: `${request.path}${request.path.includes("?") ? "&" : "?"}access_token=${token}&token=${token}`,
    }),
  ];
}
