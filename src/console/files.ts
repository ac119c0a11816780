import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { INSTALL_AND_BUILD } from "./build.ts";
import { BUILT } from "./sources.ts";

const types: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A file with a hash of its content in its name; the build has compressed what is worth it. */
export interface Asset {
  type: string;
  identity: Buffer;
  br?: Buffer;
  gzip?: Buffer;
}

export interface BuiltConsole {
  page: Buffer;
  assets: Map<string, Asset>;
}

/** Reads the built console into memory, less than 2 MB. Null, with a warning, when it is not built. */
export async function readBuiltConsole(log: { warn(message: string): void }): Promise<BuiltConsole | null> {
  try {
    const page = await readFile(join(BUILT, "index.html"));
    const names = await readdir(join(BUILT, "assets"));
    const contents = new Map(
      await Promise.all(
        names.map(async (name) => [name, await readFile(join(BUILT, "assets", name))] as const),
      ),
    );
    const served = names.filter((name) => types[extname(name)]);
    return { page, assets: new Map(served.map((name) => [name, toAsset(name, contents)])) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    log.warn(`the console is not built, so there is none: ${INSTALL_AND_BUILD}`);
    return null;
  }
}

function toAsset(name: string, contents: Map<string, Buffer>): Asset {
  const [br, gzip] = [contents.get(`${name}.br`), contents.get(`${name}.gz`)];
  return {
    type: types[extname(name)]!,
    identity: contents.get(name)!,
    ...(br && { br }),
    ...(gzip && { gzip }),
  };
}
