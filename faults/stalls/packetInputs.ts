import { TOKEN } from "../gateway.ts";
import type { Input } from "./inputs.ts";

/** As many as somebody opens without effort. */
const CONNECTIONS = 60;
/** Far more than a connection may send that is neither a request nor a body. */
const MAX_BYTES = 10_000_000;

const head = (...lines: string[]) => [...lines, "Host: x", "", ""].join("\r\n");
const post = (path: string, ...lines: string[]) =>
  head(`POST ${path} HTTP/1.1`, "Content-Type: application/json", ...lines);
const AUTHORIZED = `Authorization: Bearer ${TOKEN}`;
const CHUNKED = "Transfer-Encoding: chunked";
const LENGTH = `Content-Length: ${MAX_BYTES}`;

/** What a connection begins with. */
const beginnings: Record<string, string> = {
  "the beginning": "",
  "a request line": "GET /",
  "a header": "GET /health HTTP/1.1\r\nHost: x\r\nX-Grown: ",
  "a request": head("GET /health HTTP/1.1"),
  "a request of HTTP/1.0": head("GET /health HTTP/1.0", "Connection: keep-alive"),
  "a chunked body": post("/monitor/log", CHUNKED, AUTHORIZED),
  "a chunked body without a token": post("/monitor/log", CHUNKED),
  "a chunked body to an invalid URL": post("/%zz", CHUNKED),
  "a chunked body that is waited for": post("/monitor/log", CHUNKED, AUTHORIZED, "Expect: 100-continue"),
  "the extension of a chunk": `${post("/monitor/log", CHUNKED, AUTHORIZED)}1;`,
  "a trailer": `${post("/monitor/log", CHUNKED, AUTHORIZED)}0\r\nX-Grown: `,
  "a body with its length": post("/monitor/log", LENGTH, AUTHORIZED),
  "a body with its length without a token": post("/monitor/log", LENGTH),
  "an upgrade": head("GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: x"),
  "a stream": head("GET /prompts/own-prompt/events HTTP/1.1", AUTHORIZED),
  "invalid HTTP": "GET\r\n\r\n",
};

/** What goes on from there. */
const parts: Record<string, string> = {
  requests: "GET / HTTP/1.1\r\n\r\n",
  "requests with a body": "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na",
  "chunks of one byte": "1\r\na\r\n",
  "chunks of one byte with an extension": "1;a\r\na\r\n",
  "short chunks with a long extension": `64;${"a".repeat(15_000)}\r\n${"a".repeat(100)}\r\n`,
  "chunks of two hundred bytes": `c8\r\n${"a".repeat(200)}\r\n`,
  "last chunks": "0\r\n\r\n",
  "header lines": "a:b\r\n",
  "empty lines": "\r\n",
  letters: "a",
  noughts: "0",
  "bytes that are zero": "\0",
  "prefaces of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
};

/** What comes before there is a request, or beside it: bytes on many connections, which write them in one go. */
export function packetInputs(): Input[] {
  return Object.entries(beginnings).flatMap(([beginning, begin]) =>
    Object.entries(parts).map(
      ([name, part]): Input => ({
        name: `${CONNECTIONS} connections: ${name} after ${beginning}`,
        area: "packets",
        limit: MAX_BYTES,
        kinds: ["parts"],
        fill: (_shape, size) => ({
          connections: CONNECTIONS,
          bytes: Buffer.from(begin + part.repeat(Math.ceil(size / part.length))),
        }),
      }),
    ),
  );
}
