import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING] = [0, 1, 3, 4, 6];
const END_STREAM = 1;
const END_HEADERS = 4;
/** `:method: POST` and `:scheme: http` in the static table of HPACK. */
const POST_HTTP = Buffer.from([0x83, 0x86]);

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function header(name: string, value: string): Buffer {
  const text = (part: string) => Buffer.concat([Buffer.from([part.length]), Buffer.from(part)]);
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]); // lengths up to 126 take one byte
}

/** The frame that begins a call of a method of gRPC. */
export function callHeaders(stream: number, path: string): Buffer {
  const headers = { ":path": path, ":authority": "a", "content-type": "application/grpc", te: "trailers" };
  const block = Object.entries(headers).map(([name, value]) => header(name, value));
  return frame(HEADERS, END_HEADERS, stream, Buffer.concat([POST_HTTP, ...block]));
}

/** The frame that ends the message of a call. */
export const endOfCall = (stream: number): Buffer => frame(DATA, END_STREAM, stream);

/** The frame that cancels a call. */
export const reset = (stream: number): Buffer => frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8]));

/** Sends frames; returns once the server has read them all and answers the PING at their end. */
export async function sendFrames(socket: Socket, frames: Buffer[]): Promise<void> {
  const mark = randomBytes(8);
  socket.write(Buffer.concat([...frames, frame(PING, 0, 0, mark)]));
  let received = Buffer.alloc(0);
  while (!received.includes(mark)) {
    const [bytes] = await once(socket, "data");
    received = Buffer.concat([received, bytes]);
  }
}

/** A connection that has sent its preface, for frames that no client library sends. */
export async function openHttp2(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}); // it may be cut off
  socket.resume();
  await once(socket, "connect");
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0)]));
  return socket;
}
