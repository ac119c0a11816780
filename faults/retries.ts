import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type Gateway, type How, headers, prepareDatabase, startGateway } from "./gateway.ts";
import { judge, type Verdict } from "./ledgerCheck.ts";
import { kinds, newLedger } from "./writers.ts";

const SENDERS = 32;
const CUT = 0.3;
const MAX_CUT_MS = 15;

export interface RetriesResult extends Verdict {
  requests: number;
  /** How many connections were cut after all of a request was sent. */
  cut: number;
}

/**
 * Sends requests of every kind, each again and again until it is answered, where 30 % of the connections are cut at a random
 * moment after sending; `keys` says whether what is sent again has its `Idempotency-Key`.
 */
export async function sendAgain(
  how: How,
  { requests, keys }: { requests: number; keys: "with keys" | "without keys" },
): Promise<RetriesResult> {
  await prepareDatabase(how.databaseUrl);
  const gateway = await startGateway(how);
  const ledger = newLedger();
  const result = { requests, cut: 0 };
  let next = 0;
  const sender = async () => {
    for (let n = next++; n < requests; n = next++) {
      const name = randomUUID();
      const [path, body] = kinds[n % kinds.length]!(name);
      const key = keys === "with keys" ? name : null;
      let outcome = await sendOnce(gateway, { path, body, key });
      for (; outcome !== "answered"; outcome = await sendOnce(gateway, { path, body, key }))
        if (outcome === "cut") result.cut += 1;
      ledger.acknowledged.add(name);
    }
  };
  try {
    await Promise.all(Array.from({ length: SENDERS }, sender));
  } finally {
    await gateway.stop();
  }
  return { ...result, ...(await judge(how.databaseUrl, ledger)) };
}

interface Sent {
  path: string;
  body: object;
  key: string | null;
}

async function sendOnce({ url }: Gateway, { path, body, key }: Sent): Promise<"answered" | "cut" | "busy"> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}); // it was cut
  const payload = JSON.stringify(body);
  const lines = {
    ...headers,
    host: hostname,
    connection: "close",
    "content-length": Buffer.byteLength(payload),
    ...(key !== null && { "idempotency-key": key }),
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}`);
  await once(socket, "connect");
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${payload}`);
  if (Math.random() < CUT) {
    await wait(Math.random() * MAX_CUT_MS);
    socket.destroy();
    return "cut";
  }
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  if (/^HTTP\/1\.1 503 .*^retry-after: /ims.test(answer)) return "busy"; // nothing is stored: send it again
  if (!/^HTTP\/1\.1 20\d/.test(answer)) throw new Error(`Refused: ${answer}`);
  return "answered";
}
