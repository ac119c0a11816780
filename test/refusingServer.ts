import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect } from "vitest";
import { createEarlyRefusals } from "../src/earlyRefusals.ts";
import { refusalFor, refuse } from "../src/refusals.ts";

interface Serving {
  isFull: () => boolean;
  answer?: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A server that does nothing but serve or refuse, and tells what Node.js read. */
export async function serve({ isFull, answer = (_, response) => response.end() }: Serving) {
  const read: string[] = [];
  const early = createEarlyRefusals({ isFull, isBusy: () => true, refuse: refusalFor, refused: () => {} });
  const sockets: Socket[] = [];
  let opened = 0;
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    read.push(request.url!);
    early.begin(request, response);
    if (!isFull()) return answer(request, response);
    refuse(request, response, []);
    early.watch(request, response);
  });
  server.on("connection", (socket) => sockets.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    let received = "";
    socket.setEncoding("latin1").on("data", (chunk) => (received += chunk));
    await once(socket, "connect");
    await expect.poll(() => sockets.length).toBe(++opened);
    const taken = sockets.at(-1)!;
    /** Sends bytes that the server takes by themselves. */
    const send = async (bytes: string) => {
      const before = taken.bytesRead;
      socket.write(bytes, "latin1");
      await expect.poll(() => taken.bytesRead, { interval: 1 }).toBe(before + bytes.length);
    };
    return { socket, taken, send, answers: () => answersIn(received) };
  };
  return {
    open,
    read,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The answers in what was received, none of which has a body in chunks. */
function answersIn(received: string): { head: string; body: string }[] {
  const answers = [];
  for (let at = 0; ; ) {
    const end = received.indexOf("\r\n\r\n", at);
    if (end < 0) return answers;
    const head = received.slice(at, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    at = end + 4 + length;
    if (!head.startsWith("HTTP/1.1 100")) answers.push({ head, body: received.slice(end + 4, at) });
  }
}
