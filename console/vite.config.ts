import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Compresses the built files beside them, so that serving them takes no time. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  async writeBundle({ dir }) {
    const folder = join(dir!, "assets");
    for (const name of await readdir(folder)) {
      const content = await readFile(join(folder, name));
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      };
      await writeFile(join(folder, `${name}.br`), brotliCompressSync(content, { params }));
      await writeFile(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

/** Writes the types of the operations anew while one of them is edited. */
const documents: Plugin = {
  name: "documents",
  apply: "serve",
  async handleHotUpdate({ file, read }) {
    if (file.includes("/src/gql/") || !(await read()).includes("graphql(`")) return;
    await promisify(execFile)(process.execPath, ["documents.ts"], { cwd: import.meta.dirname });
  },
};

const server = process.env.GABBRO_URL ?? "http://localhost:3001";

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [react(), compressed, documents],
  build: {
    target: "es2023",
    // Without inline content the policy of the page needs no exceptions.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // `npm run dev`: the pages come from Vite, the data from a running Gabbro.
  server: {
    proxy: { "/graphql": server, "/console/session": server },
    // The editor of prompts parses templates as the service does.
    fs: { allow: [new URL("..", import.meta.url).pathname] },
  },
});
