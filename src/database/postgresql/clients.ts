import type { Socket } from "node:net";
import pg from "pg";
import { hostsOf } from "../urls.ts";

const PROBE_TIMEOUT_MS = 2_000;

/**
 * Makes the class of connections to the host of `url` that takes writes. Which one that is, is found out again whenever a
 * connection could not be made, so after a failover the next connection goes to the new primary.
 */
export function primaryClient(url: string, silenceMs: number): typeof pg.Client {
  const urls = hostsOf(url);
  let primary: Promise<string> | undefined;
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connecting = this.#connectToPrimary();
      if (!callback) return connecting;
      connecting.then((client) => callback(null, client), callback);
      return undefined;
    }

    async #connectToPrimary(): Promise<pg.Client> {
      primary ??= urls.length === 1 ? Promise.resolve(url) : Promise.any(urls.map(takesWrites));
      try {
        const found = await primary.catch(({ errors }) => Promise.reject(errors[0]));
        const { host, port } = new pg.Client({ connectionString: found });
        const { connection } = Object.assign(this, { host, port }) as unknown as WithConnection;
        const isStandby = new Promise<boolean>((resolve) => {
          connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
            if (parameterName === "in_hot_standby") resolve(parameterValue === "on");
          });
          connection.once("readyForQuery", () => resolve(false));
        });
        await super.connect();
        if (await isStandby) throw await refused(this);
        endWhenSilent(connection.stream, found, silenceMs);
      } catch (error) {
        primary = undefined;
        throw error;
      }
      return this;
    }
  };
}

type Connected = (...outcome: [error: Error] | [error: null, client: pg.Client]) => void;

interface WithConnection {
  connection: {
    stream: Socket;
    on(
      event: "parameterStatus",
      tell: (status: { parameterName: string; parameterValue: string }) => void,
    ): void;
    once(event: "readyForQuery", tell: () => void): void;
  };
}

async function refused(client: pg.Client): Promise<Error> {
  await client.end();
  return standby();
}

/** With PostgreSQL's own code for a write where none can be. */
const standby = () => Object.assign(new Error("it is a standby, which takes no writes"), { code: "25006" });

async function takesWrites(url: string): Promise<string> {
  if (await ask(url, "select not pg_is_in_recovery()")) return url;
  throw standby();
}

/** The only value that a statement gives, asked on a connection of its own; rejects when there is no answer in 2 s. */
async function ask(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "gabbro",
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  });
  client.on("error", () => {}); // what is under way rejects by itself
  try {
    await client.connect();
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    void client.end().catch(() => {}); // a host that does not answer never says that it has ended
  }
}

/**
 * Ends a connection over which nothing comes for long and whose host answers no other one either: a host that is gone
 * without a word would else hold requests for as long as the operating system waits, a quarter of an hour.
 */
function endWhenSilent(stream: Socket, url: string, silenceMs: number): void {
  stream.setTimeout(silenceMs);
  stream.on("timeout", async () => {
    try {
      await ask(url, "select 1").catch(onlyRefusal);
      stream.setTimeout(silenceMs);
    } catch {
      stream.destroy(Object.assign(new Error("the database fell silent"), { code: "ETIMEDOUT" }));
    }
  });
}

/** Who has no room for another connection is there all the same. */
function onlyRefusal(error: unknown): void {
  if (!(error instanceof pg.DatabaseError)) throw error;
}
