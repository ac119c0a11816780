import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../test/support/postgresServer.ts";
import { type Sent, startClients } from "./balancedClients.ts";
import { type Gateway, type How, prepareDatabase, startGateway } from "./gateway.ts";
import { judge, type Verdict } from "./ledgerCheck.ts";
import { newLedger } from "./writers.ts";

export interface RollingResult extends Verdict, Sent {
  restarts: number;
  acknowledged: number;
}

const BETWEEN_MS = 300;

/** Restarts gateways one after another while clients go on, each stopped in order or, for a control, killed. */
export async function restartInTurn(
  how: How,
  { gateways, restarts, signal }: { gateways: number; restarts: number; signal: "SIGTERM" | "SIGKILL" },
): Promise<RollingResult> {
  await prepareDatabase(how.databaseUrl);
  const ledger = newLedger();
  const ports = await Promise.all(Array.from({ length: gateways }, freePort));
  const start = (port: number) =>
    startGateway({ ...how, env: { DRAIN_SECONDS: "2", ...how.env, PORT: String(port) } });
  const running: Gateway[] = await Promise.all(ports.map(start));
  const clients = startClients(
    running.map(({ url }) => url),
    ledger,
  );
  try {
    for (let n = 0; n < restarts; n++) {
      const at = n % gateways;
      await wait(BETWEEN_MS);
      running[at]!.child.kill(signal);
      const { code } = await running[at]!.ended;
      if (signal === "SIGTERM" && code !== 0)
        throw new Error(`It ended with ${code}: ${running[at]!.said()}`);
      running[at] = await start(ports[at]!);
    }
    await wait(BETWEEN_MS);
  } finally {
    await clients.stop();
    for (const gateway of running) await gateway.kill();
  }
  return {
    restarts,
    ...clients.sent,
    acknowledged: ledger.acknowledged.size,
    ...(await judge(how.databaseUrl, ledger)),
  };
}
