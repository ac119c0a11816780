import { openEvents, subscribe } from "./events.ts";
import type { Fixtures } from "./fixtures.ts";
import {
  type GraphqlRequest,
  mutationOperations,
  type Needed,
  type Operation,
  queryOperations,
  restOperations,
  subscriptionOperations,
} from "./operations.ts";
import type { Answer, Server } from "./server.ts";

/** A row of the table: an operation by one of the ways to it, and what it needs. */
export interface Row {
  name: string;
  needed: Needed | "nothing" | "any token";
  ask(token: string | null, fixtures: Fixtures): Promise<Answer>;
}

/** Every operation by every way that it can be asked for; a field of the schema or a route that is not here has no row. */
export async function rowsOf(server: Server): Promise<Row[]> {
  const byPost = ({ name, needed, request }: Operation<GraphqlRequest>): Row => ({
    name,
    needed,
    ask: (token, fixtures) => server.post("/graphql", request(fixtures), { token }),
  });
  const byGet = ({ name, needed, request }: Operation<GraphqlRequest>): Row => ({
    name: `${name} by GET`,
    needed,
    ask: (token, fixtures) => {
      const { query, variables } = request(fixtures);
      const asked = new URLSearchParams({ query, variables: JSON.stringify(variables) });
      return server.get(`/graphql?${asked}`, { token });
    },
  });
  // Yoga answers those who would also take events.
  const accept = "application/json, text/event-stream";
  const byYoga = ({ name, needed, request }: Operation<GraphqlRequest>): Row => ({
    name: `${name} by Yoga`,
    needed,
    ask: (token, fixtures) => server.post("/graphql", request(fixtures), { token, headers: { accept } }),
  });
  const listening = ({ name, needed, request }: Operation<GraphqlRequest>): Row => ({
    name,
    needed,
    ask: (token, fixtures) => {
      const { query, variables } = request(fixtures);
      return firstOf(subscribe(server, query, variables, token));
    },
  });
  const byRest = restOperations.flatMap(({ name, needed, request }): Row[] => {
    const ask = (token: string | null, fixtures: Fixtures, asked?: string) => {
      const { method, path, body } = request(fixtures);
      return server.request(asked ?? method, path, body, { token });
    };
    const row = { name, needed, ask };
    if (!name.startsWith("GET")) return [row];
    const head = name.replace("GET", "HEAD");
    return [row, { name: head, needed, ask: (token, fixtures) => ask(token, fixtures, "HEAD") }];
  });
  return [
    ...byRest,
    ...[byPost, byGet].flatMap((by) => queryOperations.map(by)),
    ...[byPost, byYoga].flatMap((by) => mutationOperations.map(by)),
    ...subscriptionOperations.map(listening),
    {
      name: "GET /prompts/:slug/events",
      needed: "read",
      ask: (token, { prompt }) => firstOf(openEvents(server, `/prompts/${prompt}/events`, token)),
    },
    ...openRows(server),
    ...(await signedRows(server)),
  ];
}

/** What a browser loads, and what watches over the service: there is nothing of any workspace in it. */
function openRows(server: Server): Row[] {
  const opened = (name: string, path: string, accept = "*/*"): Row => ({
    name,
    needed: "nothing",
    ask: (token) => server.request(name.split(" ", 1)[0]!, path, undefined, { token, headers: { accept } }),
  });
  const paths: [route: string, path?: string][] = [
    ["/health"],
    ["/ready"],
    ["/openapi.json"],
    ["/docs"],
    ["/docs/"],
    ["/docs/json"],
    ["/docs/yaml"],
    ["/docs/static/index.html"],
    ["/docs/static/swagger-initializer.js"],
    ["/docs/*", "/docs/static/swagger-ui.css"],
    ["/graphql/assets/:name", "/graphql/assets/graphiql.css"],
  ];
  return [
    ...paths.flatMap(([route, path = route]) => [
      opened(`GET ${route}`, path),
      opened(`HEAD ${route}`, path),
    ]),
    opened("GET /", "/", "text/html"),
    opened("HEAD /", "/", "text/html"),
    opened("GET /graphql", "/graphql", "text/html"),
    ...["GET", "HEAD", "POST"].map(
      (method): Row => ({
        name: `${method} /auth/verify`,
        needed: "any token",
        ask: (token) => server.request(method, "/auth/verify", undefined, { token }),
      }),
    ),
    {
      name: "POST /graphql",
      needed: "any token",
      ask: (token) => server.graphql("{ __schema { queryType { name } } }", {}, { token }),
    },
  ];
}

/** What a signed URL allows, without a token; security/files has the URLs that are not signed. */
async function signedRows(server: Server): Promise<Row[]> {
  const file = { fileName: "one.jpg", contentType: "image/jpeg" };
  const { body: upload } = await server.post("/files/generate-upload-url", file);
  const ask = (method: string, url: string, token: string | null) => {
    const { pathname, search } = new URL(url);
    const isUpload = method === "PUT";
    const headers: Record<string, string> = isUpload ? { "content-type": file.contentType } : {};
    return server.request(method, pathname + search, isUpload ? "x" : undefined, { token, headers });
  };
  await ask("PUT", upload.uploadUrl, null);
  const { body } = await server.graphql(`{ file(key: "${upload.fileKey}") { downloadUrl } }`);
  const { downloadUrl } = body.data.file;
  return [
    ...["GET", "HEAD"].map((method): Row => {
      const name = `${method} /files/download/datasets/:workspaceId/:name`;
      return { name, needed: "nothing", ask: (token) => ask(method, downloadUrl, token) };
    }),
    {
      name: "PUT /files/upload/datasets/:workspaceId/:name",
      needed: "nothing",
      ask: (token) => ask("PUT", upload.uploadUrl, token),
    },
  ];
}

const LISTENING_MS = 30;

/** Listens until the server accepts the subscription, or says why not. */
async function firstOf(opening: ReturnType<typeof subscribe>): Promise<Answer> {
  await using events = await opening;
  const stop = setTimeout(() => events[Symbol.asyncDispose](), LISTENING_MS);
  const body = await events.next().catch(() => ({ data: {} }));
  clearTimeout(stop);
  const { status, headers } = events.response;
  return { status, body, headers: Object.fromEntries(headers) };
}

/** Every method and path that the server has, as Fastify draws them. */
export function routesOf({ app }: Server): string[] {
  const parents: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split("\n")
    .flatMap((line) => {
      const [, before, segment, methods] = /^(.*?)[├└]── (\S+) \(([A-Z, ]+)\)$/.exec(line) ?? [];
      if (before === undefined) return [];
      const depth = before.length / 4;
      parents[depth] = (parents[depth - 1] ?? "") + segment!;
      return methods!.split(", ").map((method) => `${method} ${parents[depth]!.replace("//", "/")}`);
    });
}

/** The code of an error, in whichever form it came. */
export function codeIn(body: unknown): string | undefined {
  const { code, errors } = (body ?? {}) as { code?: string; errors?: { extensions: { code: string } }[] };
  return code ?? errors?.[0]?.extensions.code;
}
