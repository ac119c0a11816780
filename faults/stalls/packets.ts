import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Answered } from "./requests.ts";

/** Bytes that each of several connections writes, whatever they mean. */
export interface Packets {
  connections: number;
  bytes: Buffer;
}

/** How long nothing comes back before a connection is given up. */
const SILENCE_MS = 50;

/** Opens the connections, has all of them write at once, and reads until the server closes each or says no more. */
export async function sendPackets(url: string, { connections, bytes }: Packets): Promise<Answered> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      await once(socket, "connect");
      return socket;
    }),
  );
  const [text] = await Promise.all(sockets.map((socket) => writeAndRead(socket, bytes)));
  return { status: Number(/^HTTP\/1\.1 (\d+) /.exec(text!)?.[1] ?? 0), text: text! };
}

function writeAndRead(socket: Socket, bytes: Buffer): Promise<string> {
  let text = "";
  return new Promise((resolve) => {
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      if (text.length < 1_000) text += chunk;
    });
    socket.on("error", () => {}); // the server cuts it off
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    socket.once("close", () => resolve(text));
    socket.write(bytes);
  });
}
