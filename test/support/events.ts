import { checkErrorsAreNamed } from "./errorCodes.ts";
import type { Server } from "./server.ts";

/** A subscription by server-sent events over a real connection, open when it is given back. */
export async function subscribe(
  { url, token: own }: Pick<Server, "url" | "token">,
  query: string,
  variables: object = {},
  token: string | null = own,
) {
  const headers = { "content-type": "application/json", ...headersOf(token) };
  const request = { method: "POST", headers, body: JSON.stringify({ query, variables }) };
  return listen(`${url}/graphql`, request, ({ errors = [] }) => checkErrorsAreNamed(query, errors));
}

/** The events of a path of REST over a real connection, open when it is given back. */
export function openEvents(
  { url, token: own }: Pick<Server, "url" | "token">,
  path: string,
  token: string | null = own,
) {
  return listen(url + path, { headers: headersOf(token) });
}

const headersOf = (token: string | null) => ({
  accept: "text/event-stream",
  ...(token !== null && { authorization: `Bearer ${token}` }),
});

/** Listens for events, each of which is checked before it is given back. */
// biome-ignore lint/suspicious/noExplicitAny: an event may have any shape
async function listen(url: string, request: RequestInit, check: (event: any) => void = () => {}) {
  const abort = new AbortController();
  const response = await fetch(url, { ...request, signal: abort.signal });
  const events = eventsOf(response);
  return {
    response,
    /** The next result; null when there is none any more. */
    // biome-ignore lint/suspicious/noExplicitAny: a result may have any shape
    next: async (): Promise<any> => {
      const event = (await events.next()).value ?? null;
      if (event) check(event);
      return event;
    },
    [Symbol.asyncDispose]: async () => abort.abort(),
  };
}

async function* eventsOf(response: Response): AsyncGenerator<unknown, unknown> {
  const { body, headers } = response;
  if (headers.get("content-type")?.includes("application/json")) {
    yield await response.json();
    return;
  }
  let text = "";
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event.startsWith("event: complete")) return;
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data) yield JSON.parse(data);
    }
  }
}
