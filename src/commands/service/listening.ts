import { lookup } from "node:dns/promises";
import type { Config } from "../../config.ts";

/** The addresses to listen at: `localhost` may have one of each version of IP. */
export async function addressesOf(host: string): Promise<string[]> {
  if (host !== "localhost") return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Where a browser on this machine finds the service. */
export function urlOf({ host }: Config, port: number): string {
  const isAnyAddress = host === "0.0.0.0" || host === "::";
  return `http://${isAnyAddress ? "localhost" : host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The error of a service that could not listen, with the setting that helps. */
export function cannotListen(cause: NodeJS.ErrnoException, { host, port }: Config): Error {
  const reason = reasonOf(cause.code, port) ?? cause.message;
  return new Error(`Cannot listen on port ${port} of ${host} (${cause.code}): ${reason}`, { cause });
}

function reasonOf(code: string | undefined, port: number): string | undefined {
  switch (code) {
    case "EADDRINUSE":
      return `it is in use. Stop what listens there, or set PORT to a free one, such as PORT=${port < 65_535 ? port + 1 : 3001}.`;
    case "EACCES":
      return "this user may not. Set PORT to one from 1024 on.";
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return "no such address on this machine. Set HOST to one that it has, such as localhost or 0.0.0.0.";
    default:
      return undefined;
  }
}
