import { TOKEN } from "../gateway.ts";
import type { Material } from "./material.ts";

/** Bytes in the pieces in which they are sent, and whether the server must refuse them. */
export interface RawCase {
  pieces: Buffer[];
  /** A request of which a proxy could see another beginning or end than the server. */
  isSmuggled: boolean;
}

const LINE = "\r\n";
const log = '{"slug":"p-0","output":1}';
const typename = '{"query":"{ __typename}"}'; // as long as the log
const second = `GET /datasets HTTP/1.1${LINE}Host: x${LINE}${LINE}`;

/** Heads that say two things about where the request ends. */
const smuggled = [
  ["Content-Length: 25", "Transfer-Encoding: chunked"],
  ["Transfer-Encoding: chunked", "Content-Length: 0"],
  ["Content-Length: 25", "Content-Length: 26"],
  ["Content-Length: 25, 26"],
  ["Content-Length: +25"],
  ["Content-Length: 0x19"],
  ["Content-Length: 25 25"],
  ["Content-Length: -1"],
  ["Content-Length: 99999999999999999999"],
  ["Content-Length : 25"],
  [" Content-Length: 25"],
  ["Transfer-Encoding: xchunked"],
  ["Transfer-Encoding: chunked, identity"],
  ["Transfer-Encoding : chunked"],
  ["Transfer-Encoding:\x0bchunked"],
  ["X: y\n Content-Length: 25"],
  ["X: a\0b", "Content-Length: 25"],
  ["X: a\rContent-Length: 25"],
  ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
];

/** Heads that are odd, yet say clearly where the request ends, or are none at all. */
const odd = [
  ["Content-Length: 25", "Host: a", "Host: b"],
  ["Content-Length: 25", "X: y\r\n z"],
  ["X: y\r\n\tTransfer-Encoding: chunked", "Content-Length: 25"],
  ["Content-Length: 25", "Content-Length: 25"],
  ["Content-Length: 25", "Content-Type: text/plain"],
  ["Content-Length: 25", "Authorization: Bearer x"],
  ["Content-Length: 24"],
  ["Content-Length: 10485761"],
  ["Content-Length: 26"],
  ["Transfer-Encoding: chunked"],
  ["Content-Length: 25", `X-Big: ${"x".repeat(20_000)}`],
  ["Content-Length: 25", ...Array.from({ length: 1_500 }, (_, n) => `X-${n}: y`)],
  ["Content-Length: 25", "Expect: 100-continue"],
  [
    "Content-Length: 25",
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
  ],
  ["Content-Length: 25", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"],
  ["Content-Length: 25", "\xff: y"],
  ["Content-Length: 25", "no colon"],
  ["Content-Length: 25", ": y"],
];

const chunks = [
  `19${LINE}${log}${LINE}0${LINE}${LINE}`,
  `5${LINE}{"slu${LINE}14${LINE}g":"p-0","output":1}${LINE}0${LINE}X: y${LINE}${LINE}`,
  `19;${"a".repeat(300)}${LINE}${log}${LINE}0${LINE}${LINE}`,
  `19${LINE}${log}0${LINE}${LINE}`,
  `-1${LINE}${log}${LINE}0${LINE}${LINE}`,
  `ffffffffffffffff${LINE}${log}`,
  `zz${LINE}${log}${LINE}0${LINE}${LINE}`,
  `0${LINE}${LINE}`,
  `19\n${log}\n0\n\n`,
  `19${LINE}${log}`,
];

const lines = [
  "POST /monitor/log HTTP/1.1",
  "POST /graphql HTTP/1.1",
  "POST /monitor/log HTTP/1.0",
  "POST /monitor/log HTTP/2.0",
  "POST /monitor/log HTTP/9.9",
  "POST /monitor/log",
  "post /monitor/log HTTP/1.1",
  "POST  /monitor/log  HTTP/1.1",
  "POST http://other.example/monitor/log HTTP/1.1",
  "POST //monitor/log HTTP/1.1",
  "POST /monitor/log\xff HTTP/1.1",
  "POST /monitor/log\0 HTTP/1.1",
  "POST /graphql?\xe9=\xff HTTP/1.1",
  "CONNECT x:80 HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "GET /datasets#x HTTP/1.1",
  `GET /${"a".repeat(17_000)} HTTP/1.1`,
  `GET /datasets/${"a".repeat(15_000)} HTTP/1.1`,
  "PRI * HTTP/2.0",
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "",
];

/** Bytes that are meant as a request, hardly as one, or as two of which one hides in the other. */
export function rawCase(material: Material): RawCase {
  const isSmuggled = material.chance(0.3);
  const line = isSmuggled
    ? material.oneOf(lines.slice(0, 2))
    : material.chance(0.6)
      ? lines[0]!
      : material.oneOf(lines);
  const framing = material.oneOf(isSmuggled ? smuggled : odd);
  const isChunked =
    framing.some((header) => /chunked$/.test(header)) && !framing.includes("Content-Length: 25");
  const body = isChunked ? material.oneOf(chunks) : line.includes("graphql") ? typename : log;
  const always = [
    `Host: ${material.oneOf(["x", "", "a b", "["])}`,
    `Authorization: Bearer ${TOKEN}`,
    "Content-Type: application/json",
  ];
  const more = material.chance(0.5) ? ["Connection: close"] : [];
  const head = [line, ...always, ...framing, ...more].join(LINE);
  const after = material.chance(0.3) ? second : "";
  const bytes = Buffer.from(`${head}${LINE}${LINE}${body}${after}`, "latin1");
  const spoilt = !isSmuggled && material.chance(0.3) ? withOtherBytes(material, bytes) : bytes;
  const cut = material.below(spoilt.length);
  return {
    pieces: material.chance(0.3) ? [spoilt.subarray(0, cut), spoilt.subarray(cut)] : [spoilt],
    isSmuggled,
  };
}

function withOtherBytes(material: Material, bytes: Buffer): Buffer {
  const spoilt = Buffer.from(bytes);
  for (let changes = 1 + material.below(4); changes > 0; changes--)
    spoilt[material.below(spoilt.length)] = material.below(256);
  return material.chance(0.3) ? spoilt.subarray(0, material.below(spoilt.length)) : spoilt;
}
