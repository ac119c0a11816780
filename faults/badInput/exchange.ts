import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { gunzipSync } from "node:zlib";

/** A request whose head is valid HTTP. */
export interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

export interface Answer {
  /** Of the request that it answers. */
  method: string;
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

const TIMEOUT_MS = 20_000;
const HANGS = `nothing in ${TIMEOUT_MS / 1_000} s`;
const agent = new Agent({ keepAlive: true });

/** Sends a request and gives its answer; throws when there is none in twenty seconds. */
export async function exchange(url: string, sent: Sent): Promise<Answer> {
  try {
    return await exchangeOnce(url, sent);
  } catch (error) {
    // The server may close a connection that was idle just as it is used again.
    if ((error as { isReused?: boolean }).isReused) return await exchangeOnce(url, sent);
    throw error;
  }
}

function exchangeOnce(url: string, { method, path, headers, body }: Sent): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // Node.js leaves the length out for methods that mostly come without a body.
    const all = body ? { ...headers, "content-length": String(body.length) } : headers;
    const asked = httpRequest({ agent, hostname, port, method, path, headers: all }, (response) => {
      const { statusCode, headers } = response;
      const done = (text: string) => {
        clearTimeout(timer);
        resolve({ method, status: statusCode!, headers, body: text });
      };
      const chunks: Buffer[] = [];
      const whole = () => {
        const bytes = Buffer.concat(chunks);
        return (
          headers["content-encoding"] === "gzip" && bytes.length > 0 ? gunzipSync(bytes) : bytes
        ).toString();
      };
      response.on("data", (chunk) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => done(whole()));
      // Events may go on for ever.
      if (headers["content-type"]?.startsWith("text/event-stream")) {
        done("");
        response.destroy();
      }
    });
    const timer = setTimeout(() => {
      asked.destroy(new Error(HANGS));
    }, TIMEOUT_MS);
    asked.on("error", (error) => {
      clearTimeout(timer);
      reject(Object.assign(error, { isReused: asked.reusedSocket && error.message !== HANGS }));
    });
    asked.end(body ?? undefined);
  });
}

const QUIET_MS = 100;

/**
 * Sends bytes as they are, each piece by itself, and gives all that comes back. It closes its half of the connection once
 * nothing has come for a while, as the server waits for the rest of what is no whole request.
 */
export function exchangeBytes(url: string, pieces: Buffer[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received = "";
    const quiet = setTimeout(() => socket.end(), QUIET_MS);
    const timer = setTimeout(() => {
      reject(new Error(HANGS));
      socket.destroy();
    }, TIMEOUT_MS);
    socket.setEncoding("latin1").setNoDelay(true);
    socket.on("data", (chunk) => {
      received += chunk;
      quiet.refresh();
    });
    socket.on("error", () => {}); // it may be closed while more is sent
    socket.on("close", () => {
      clearTimeout(quiet);
      clearTimeout(timer);
      resolve(received);
    });
    socket.on("connect", async () => {
      for (const piece of pieces) {
        socket.write(piece);
        await new Promise((next) => setImmediate(next));
      }
    });
  });
}
