import { runCommandLine } from "./commandLine.ts";

await runCommandLine(process.argv.slice(2));
