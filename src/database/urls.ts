/**
 * The URL of each host in a connection URL of PostgreSQL, such as `postgresql://me@one:5432,two:5432/gabbro`: the driver
 * accepts only one host.
 */
export function hostsOf(url: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url);
  if (!parts) return [url];
  const [, before, hosts = "", after] = parts;
  return hosts.split(",").map((host) => `${before}${host}${after}`);
}

/** The name of the database in a URL, and its hosts, for messages: without the password. */
export function describeUrl(url: string): string {
  const urls = hostsOf(url).map((hostUrl) => new URL(hostUrl));
  const places = urls.map(({ hostname, port }) => `${hostname || "this machine"}${port && `:${port}`}`);
  return `${databaseNameOf(url)} on ${places.join(", ")}`;
}

export function databaseNameOf(url: string): string {
  return decodeURIComponent(new URL(hostsOf(url)[0]!).pathname.slice(1)) || "postgres";
}
