import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import packageJson from "../../package.json" with { type: "json" };

declare module "vitest" {
  interface ProvidedContext {
    /** The Chromium of npm, with the libraries and fonts that a bare machine lacks; null where npm has none. */
    chromium: { executablePath: string; env: Record<string, string> } | null;
  }
}

const version = packageJson.devDependencies["@sparticuz/chromium"];
/** Not where the program keeps what it compiled: it takes no folder that others may open. */
const cache = fileURLToPath(new URL("../../node_modules/.cache/gabbro-tests", import.meta.url));
const isForThis = process.platform === "linux" && process.arch === "x64";

export default async function setup(project: TestProject): Promise<void> {
  project.provide("chromium", await unpackChromium());
}

/** Unpacks the browser once for each of its versions, which takes 3 s and 220 MB. */
export async function unpackChromium() {
  if (!isForThis) return null;
  const folder = join(cache, `chromium-${version}`);
  if (!existsSync(folder)) await unpack(folder);
  const env = { LD_LIBRARY_PATH: join(folder, "al2023/lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") };
  return { executablePath: join(folder, "chromium"), env };
}

/** The package unpacks into the folder for temporary files, and brings its libraries along on AWS alone. */
async function unpack(folder: string): Promise<void> {
  const unpacked = `${folder}.${process.pid}`;
  await mkdir(unpacked, { recursive: true });
  const program = 'import("@sparticuz/chromium").then(({ default: chromium }) => chromium.executablePath())';
  const env = { ...process.env, TMPDIR: unpacked, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" };
  await promisify(execFile)(process.execPath, ["--eval", program], { env });
  // The package's own names folders of AWS, and without a font the browser ends.
  const fonts = `<dir>${folder}/fonts</dir><cachedir>${folder}/fonts-cache</cachedir>`;
  await writeFile(join(unpacked, "fonts.conf"), `<fontconfig>${fonts}</fontconfig>`);
  // Another run may have been faster.
  await rename(unpacked, folder).catch(() => rm(unpacked, { recursive: true }));
}
