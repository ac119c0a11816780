import type { Dialect } from "../dialect.ts";
import { handleOf } from "./connection.ts";

/** Between two looks for what other processes have written, for subscribers. */
const CHECK_MS = 1_000;

/** Follows the commits of other processes by `data_version`, which does not change for writes of the same connection. */
export const openSqliteChangeFeed: Dialect["openChangeFeed"] = async ({ em }, pubSub) => {
  const statement = (await handleOf(em, "write")).prepare<[], number>("pragma data_version").pluck();
  // On the connection for reads, which commits nothing itself.
  const commits = (await handleOf(em, "read")).prepare<[], number>("pragma data_version").pluck();
  let version: number | undefined;
  // Reads the count once per turn of the event loop: this covers all writes acknowledged before its requests arrived.
  const countWrites = () => {
    if (version === undefined) {
      version = statement.get()!;
      setImmediate(() => {
        version = undefined;
      });
    }
    return version;
  };
  let checked: number | undefined;
  const check = () => {
    try {
      const count = countWrites();
      if (count !== (checked ?? count)) pubSub.prompts.publishToAll(null);
      checked = count;
    } catch {} // requests report a database that fails
  };
  check();
  const checks = setInterval(check, CHECK_MS).unref();
  const close = async () => clearInterval(checks);
  return {
    countWrites,
    countHeardWrites: countWrites,
    countCommits: () => commits.get()!,
    notify: async () => {},
    notifyOfPrompt: async () => {},
    close,
  };
};
