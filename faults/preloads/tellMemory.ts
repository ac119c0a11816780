import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// On SIGUSR2 the gateway collects its garbage and prints what is left, so that what grows is seen among what comes and goes.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
process.on("SIGUSR2", () => {
  collect();
  process.stdout.write(`heap ${process.memoryUsage().heapUsed}\n`);
});
