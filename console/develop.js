import { spawn } from "node:child_process";

// npm run dev: the service, which starts anew when its sources change, and Vite before it, which replaces what changes of the
// console in the open page. Both end together.
const url = process.env.GABBRO_URL ?? `http://localhost:${process.env.PORT ?? 3001}`;
const programs = [
  spawn(process.execPath, ["--watch", "bin/gabbro.js", "serve"], { stdio: "inherit" }),
  spawn("npm", ["run", "dev", "--prefix", "console"], {
    stdio: "inherit",
    env: { ...process.env, GABBRO_URL: url },
    shell: process.platform === "win32",
  }),
];
const endAll = () => {
  for (const program of programs) program.kill("SIGTERM");
};
for (const program of programs) program.once("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, endAll);
