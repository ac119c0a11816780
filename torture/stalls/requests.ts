import { Agent, request as httpRequest } from "node:http";

/** A request that is written in full before the clock runs. */
export interface Request {
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer | null;
}

export interface Answered {
  /** 0 where the connection was cut. */
  status: number;
  /** Its beginning. */
  text: string;
}

const LONGEST_KEPT = 100_000;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

export class NoAnswerError extends Error {}

/** Sends a request and reads its answer to the end, but for events, which go on for ever. A connection that is cut is an answer, too. */
export function send(url: string, asked: Request, patienceMs: number): Promise<Answered> {
  const { hostname, port } = new URL(url);
  const { method, path, body } = asked;
  const headers = body ? { ...asked.headers, "content-length": String(body.length) } : asked.headers;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      sent.destroy();
      reject(new NoAnswerError(`no answer in ${patienceMs / 1_000} s`));
    }, patienceMs);
    const done = (answered: Answered) => {
      clearTimeout(timer);
      resolve(answered);
    };
    const sent = httpRequest({ agent, hostname, port, method, path, headers }, (response) => {
      const status = response.statusCode!;
      let text = "";
      response.setEncoding("latin1");
      response.on("data", (chunk: string) => {
        if (text.length < LONGEST_KEPT) text += chunk;
        if (isOfEvents) response.destroy();
      });
      const isOfEvents = response.headers["content-type"]?.startsWith("text/event-stream");
      if (isOfEvents) setImmediate(() => response.destroy());
      response.once("close", () => done({ status, text: text.slice(0, LONGEST_KEPT) }));
      response.on("error", () => {});
    });
    sent.on("error", () => done({ status: 0, text: "" }));
    sent.end(body);
  });
}
