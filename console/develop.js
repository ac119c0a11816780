import { spawn } from "node:child_process";

// npm run dev: the service, which starts anew when its sources change, and Vite before it, which replaces what changes of the
// console in the open page. Both end together.
const programs = [
  spawn(process.execPath, ["--watch", "bin/gabbro.js", "serve"], { stdio: "inherit" }),
  spawn("npm", ["run", "dev", "--prefix", "console"], {
    stdio: "inherit",
    shell: process.platform === "win32",
  }),
];
const endAll = () => {
  for (const program of programs) program.kill("SIGTERM");
};
for (const program of programs) program.once("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, endAll);
