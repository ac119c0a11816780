import { runCommandLine } from "./commandLine.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error; // its reader has ended, such as `head`
});
await runCommandLine(process.argv.slice(2));
