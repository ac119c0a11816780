import { Agent, request as httpRequest, type IncomingMessage } from "node:http";

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

const MAX_KEPT_CHARACTERS = 100_000;
const agent = new Agent({ keepAlive: true, maxSockets: 200 });

export class NoAnswerError extends Error {}

/** Sends a request and reads its answer to the end, but for events, which go on for ever. A connection that is cut is an answer, too. */
export async function send(url: string, asked: Request, timeoutMs: number): Promise<Answered> {
  const answered = await sendOnce(url, asked, timeoutMs);
  // The server may close a connection that was idle just as it is used again.
  return answered === "cut when used again" ? send(url, asked, timeoutMs) : answered;
}

function sendOnce(
  url: string,
  { method, path, headers: given, body }: Request,
  timeoutMs: number,
): Promise<Answered | "cut when used again"> {
  const { hostname, port } = new URL(url);
  const headers = body ? { ...given, "content-length": String(body.length) } : given;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new NoAnswerError(`no answer in ${timeoutMs / 1_000} s`));
      sent.destroy();
    }, timeoutMs);
    const sent = httpRequest({ agent, hostname, port, method, path, headers }, (response) => {
      readBeginning(response, (text) => resolve({ status: response.statusCode!, text }));
    });
    sent.on("error", () => resolve(sent.reusedSocket ? "cut when used again" : { status: 0, text: "" }));
    sent.once("close", () => clearTimeout(timer));
    sent.end(body);
  });
}

function readBeginning(response: IncomingMessage, done: (text: string) => void): void {
  let text = "";
  response.setEncoding("latin1").on("data", (chunk: string) => {
    if (text.length < MAX_KEPT_CHARACTERS) text += chunk;
  });
  response.on("error", () => {}).once("close", () => done(text.slice(0, MAX_KEPT_CHARACTERS)));
  if (response.headers["content-type"]?.startsWith("text/event-stream"))
    setImmediate(() => response.destroy());
}
