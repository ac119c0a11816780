import type { Socket } from "node:net";
import pg from "pg";
import { hostsOf } from "../urls.ts";

const PROBE_TIMEOUT_MS = 2_000;

/**
 * Makes the class of connections to the primary among the hosts of `url`. A failed connection starts a new search for the
 * primary, so after a failover the next connection goes to the new one.
 */
export function primaryClient(url: string, silenceMs: number): typeof pg.Client {
  const urls = hostsOf(url);
  let primary: Promise<string> | undefined;
  return class extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      // A server that goes down may say so together with its first answer, before the pool listens; the next query rejects.
      this.on("error", () => {});
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      const connecting = this.#connectToPrimary();
      if (!callback) return connecting;
      connecting.then((client) => callback(null, client), callback);
      return undefined;
    }

    async #connectToPrimary(): Promise<pg.Client> {
      primary ??= urls.length === 1 ? Promise.resolve(url) : Promise.any(urls.map(takesWrites));
      try {
        const primaryUrl = await primary.catch(({ errors }) => Promise.reject(errors[0]));
        const { host, port } = new pg.Client({ connectionString: primaryUrl });
        const { connection } = Object.assign(this, { host, port });
        const isStandby = new Promise<boolean>((resolve) => {
          connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
            if (parameterName === "in_hot_standby") resolve(parameterValue === "on");
          });
          connection.once("readyForQuery", () => resolve(false));
        });
        await super.connect();
        if (await isStandby) {
          await this.end();
          throw standbyError();
        }
        endWhenSilent(connection.stream as Socket, primaryUrl, silenceMs);
      } catch (error) {
        primary = undefined;
        throw error;
      }
      return this;
    }
  };
}

type ConnectCallback = (...outcome: [error: Error] | [error: null, client: pg.Client]) => void;

/** With PostgreSQL's own code for a write on a read-only server. */
const standbyError = () =>
  Object.assign(new Error("it is a standby, which takes no writes"), { code: "25006" });

async function takesWrites(url: string): Promise<string> {
  if (await queryValue(url, "select not pg_is_in_recovery()")) return url;
  throw standbyError();
}

/** The single value that a statement returns, on a connection of its own; rejects without an answer in 2 s. */
async function queryValue(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "gabbro",
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  });
  client.on("error", () => {}); // the pending query rejects by itself
  try {
    await client.connect();
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    void client.end().catch(() => {}); // with a dead host this never resolves
  }
}

/**
 * Ends a silent connection whose host does not answer a new connection either. Otherwise requests to a host that vanished
 * would wait for the timeout of the operating system, a quarter of an hour.
 */
function endWhenSilent(stream: Socket, url: string, silenceMs: number): void {
  stream.setTimeout(silenceMs);
  stream.on("timeout", async () => {
    try {
      await queryValue(url, "select 1").catch(ignoreRefusal);
      stream.setTimeout(silenceMs);
    } catch {
      stream.destroy(Object.assign(new Error("the database stopped responding"), { code: "ETIMEDOUT" }));
    }
  });
}

/** A server that refuses the connection, for example because it has too many, still responds. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof pg.DatabaseError)) throw error;
}
