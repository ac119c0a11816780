import { headersOf } from "./inputs.ts";
import type { Request } from "./requests.ts";

/** Sends a request that stores something; throws unless it is carried out. Returns the answer. */
export type Send = (request: Request) => Promise<string>;

/** What one caller can store, and requests that ask for much of it. */
export interface StoredData {
  name: string;
  /**
   * Stores as much as a caller does in a minute or two, times `scale`; returns the requests by their names. Of a list of
   * requests, which cannot be repeated, the next one is sent where another one would be sent again.
   */
  store(send: Send, scale: number): Promise<Record<string, Request | Request[]>>;
}

export const post = (path: string, body: string | Buffer, type = "application/json"): Request => ({
  method: "POST",
  path,
  headers: headersOf("with a token", { "content-type": type }),
  body: Buffer.from(body),
});

export const get = (path: string): Request => ({
  method: "GET",
  path,
  headers: headersOf("with a token"),
  body: null,
});

export const graphql = (query: string, variables: object = {}): Request =>
  post("/graphql", JSON.stringify({ query, variables }));
