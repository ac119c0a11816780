import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { deserialize } from "node:v8";
import { gunzip } from "node:zlib";
import graphiql from "@graphql-yoga/render-graphiql/package.json" with { type: "json" };
import { printedSchema } from "../schema.ts";
import { type AssetName, sources } from "./sources.ts";

export type Packing = "br" | "gzip";
export type Encoding = Packing | "identity";

/** The bytes of one asset in one encoding. */
export async function readAsset(name: AssetName, encoding: Encoding): Promise<Buffer> {
  if (encoding === "identity") return unpackOnce(name);
  const packed = await packOnce(encoding);
  return packed.get(name)!;
}

/** Names one content of all assets, so that a browser may cache them forever and still gets new ones after an upgrade. */
export const assetsVersion = hashSources();

function hashSources(): string {
  const hash = createHash("sha256").update(graphiql.version).update(printedSchema());
  for (const source of Object.values(sources)) if ("file" in source) hash.update(readFileSync(source.file));
  return hash.digest("base64url").slice(0, 12);
}

const unpackings = new Map<AssetName, Promise<Buffer>>();

/** Once: clients that read nothing would each hold 5 MB of their own. */
function unpackOnce(name: AssetName): Promise<Buffer> {
  const cached = unpackings.get(name);
  if (cached) return cached;
  const unpacked = readAsset(name, "gzip").then(unzip);
  unpackings.set(name, unpacked);
  unpacked.catch(() => unpackings.delete(name));
  return unpacked;
}

type Packed = Map<AssetName, Buffer>;

const packings = new Map<Packing, Promise<Packed>>();

function packOnce(packing: Packing): Promise<Packed> {
  const cached = packings.get(packing);
  if (cached) return cached;
  const packed = pack(packing);
  packings.set(packing, packed);
  packed.catch(() => packings.delete(packing));
  return packed;
}

// In a process of its own: importing and compressing 9 MB would block this one for a third of a second and cost 50 MB for
// good, or 20 MB in a worker thread, instead of the 2 MB of the result.
async function pack(packing: Packing): Promise<Packed> {
  const program = fileURLToPath(new URL("pack.ts", import.meta.url));
  const { stdout } = await run(process.execPath, [program, packing], {
    encoding: "buffer",
    maxBuffer: 2 ** 25,
  });
  return deserialize(stdout);
}

const run = promisify(execFile);
const unzip = promisify(gunzip);
