import type { AddressInfo } from "node:net";
import { createApp } from "../src/app.ts";
import { loadConfig } from "../src/config.ts";
import { openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";

// Run as a program, for a control that must fail: the gateway without a limit from which on it refuses.
const config = loadConfig();
const limits = {
  maxInFlight: Number.POSITIVE_INFINITY,
};
const app = await createApp(await openDatabase(config.databaseUrl, entities), { ...config, limits }, false);
await app.listen({ host: config.host, port: config.port });
process.stdout.write(`http://${config.host}:${(app.server.address() as AddressInfo).port}\n`);
