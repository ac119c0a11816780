import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import { addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const MB = 1024 * 1024;
const READERS = 12;
const FIELDS = 14;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heldBytes(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

/** Hardly compressible: three bytes for each character, so that no buffer of the operating system takes all of it. */
const text = Array.from({ length: 490_000 }, () =>
  String.fromCharCode(0x4e00 + Math.floor(Math.random() * 20_000)),
).join("");
await addPrompt(server, { slug: "long", versions: [{ version: "1", text }], tags: { production: "1" } });
const fields = Array.from({ length: FIELDS }, (_, n) => `a${n}: prompt(slug: "long") { latest { text } }`);
const body = JSON.stringify({ query: `{ ${fields.join(" ")} }` });

/** The sockets of the service that answer `READERS` clients, which read the head and nothing more. */
async function answerSlowReaders(acceptEncoding: string) {
  const answering: Socket[] = [];
  const add = (socket: Socket) => void answering.push(socket);
  server.app.server.on("connection", add);
  const readers: Socket[] = [];
  for (let n = 0; n < READERS; n++) {
    const reader = connect(Number(new URL(server.url).port), "127.0.0.1");
    reader.on("error", () => {}); // it is closed while it is answered
    reader.write(
      `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nAccept-Encoding: ${acceptEncoding}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [head] = await once(reader, "data");
    expect(`${head}`.startsWith("HTTP/1.1 200")).toBe(true);
    reader.pause();
    readers.push(reader);
  }
  server.app.server.off("connection", add);
  return { answering, close: () => readers.map((reader) => reader.destroy()) };
}

test("of a large answer that many clients read slowly, each connection holds a small part", async () => {
  const { answering, close } = await answerSlowReaders("identity");
  for (const socket of answering) expect(socket.writableLength).toBeLessThan(MB / 4);
  close();
});

test("the same holds for an answer that is compressed", async () => {
  const before = heldBytes();
  const { close } = await answerSlowReaders("gzip");
  const heldMb = (heldBytes() - before) / MB;
  expect(heldMb).toBeLessThan((READERS * FIELDS * text.length * 3) / MB / 3);
  close();
});

test.each([0, 1])(
  "a large answer is the same in pieces as whole, with its length, whatever its characters (%i)",
  async (n) => {
    const odd = "x".repeat(n) + "\u{1f600}".repeat(100_000);
    const slug = `odd-${n}`;
    await addPrompt(server, { slug, versions: [{ version: "1", text: odd }], tags: { production: "1" } });
    for (const encoding of ["identity", "gzip"]) {
      const response = await fetch(`${server.url}/prompts/${slug}`, {
        headers: { authorization: `Bearer ${server.token}`, "accept-encoding": encoding },
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(JSON.parse(bytes.toString()).prompt.text).toBe(odd);
      if (encoding === "identity") expect(response.headers.get("content-length")).toBe(`${bytes.length}`);
    }
  },
);
