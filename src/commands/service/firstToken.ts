import { dirname, join, resolve } from "node:path";
import type { FastifyBaseLogger } from "fastify";
import type { Config } from "../../config.ts";
import { createPrivateFolder, recreatePrivateFile } from "../../privateFiles.ts";

/** How the user of a new database learns its first access token. */
export interface Delivery {
  /** The text to show for the token. */
  label: string;
  /** The token in a line for a shell. */
  inShell: string;
}

/**
 * Delivers the first token: on a terminal it is shown. Other output ends up in logs, which other people read, so the token
 * then goes to a file that only its user may read.
 */
export async function deliverFirstToken(
  token: string,
  config: Config,
  log: FastifyBaseLogger,
): Promise<Delivery> {
  if (config.firstToken) return { label: "the one in GABBRO_TOKEN", inShell: "$GABBRO_TOKEN" };
  if (process.stdout.isTTY) return { label: `${token}   (shown only now; keep it)`, inShell: token };
  const file = fileFor(config.databaseUrl);
  try {
    await createPrivateFolder(dirname(file));
    await using handle = await recreatePrivateFile(file);
    await handle.writeFile(`${token}\n`);
  } catch (error) {
    log.warn(error, "cannot write the first access token to a file");
    return { label: "make one with: npx gabbro token create --name NAME", inShell: "$TOKEN" };
  }
  log.info({ file: resolve(file) }, "the first access token is in this file");
  return { label: `in the file ${file}   (only its owner can read it)`, inShell: `$(cat ${inQuotes(file)})` };
}

/** Beside the SQLite file, as a user who can read the database needs no token. */
function fileFor(databaseUrl: string): string {
  const folder = databaseUrl.startsWith("sqlite:") ? dirname(databaseUrl.slice("sqlite:".length)) : "data";
  return join(folder, "first-token");
}

function inQuotes(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
