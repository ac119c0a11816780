import { execSync } from "node:child_process";

// npm runs this after it has installed the packages of a clone. npx runs it, too, before a command such as `npx gabbro`, which
// must neither wait for a build nor need a network.
if (process.env.npm_command !== "exec") {
  execSync("npm ci --prefix console --include=dev --no-audit --no-fund", { stdio: "inherit" });
  execSync("npm run console", { stdio: "inherit" });
}
