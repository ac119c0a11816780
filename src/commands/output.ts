import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/** Writes pieces to a file, which appears once it is whole, or to the standard output; no faster than that takes them. */
export async function writeOut(path: string | undefined, pieces: AsyncIterable<string>): Promise<void> {
  if (path === undefined) {
    await pipeline(pieces, process.stdout, { end: false }).catch((error) => {
      if (error.code !== "EPIPE") throw error; // whoever reads it has enough, such as `head`
    });
    return;
  }
  const partial = `${path}.partial`;
  try {
    await pipeline(pieces, createWriteStream(partial));
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
}
