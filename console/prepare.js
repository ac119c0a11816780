import { execSync } from "node:child_process";

// On the standard error: what `npm pack` prints is the name of the package.
const stdio = ["ignore", 2, 2];

// npm runs this after it has installed the packages of a clone. npx runs it, too, before a command such as `npx gabbro`, which
// must neither wait for a build nor need a network.
if (process.env.npm_command !== "exec") {
  // `npm ci` removes what is installed first, which others may read while a package is made.
  const install = process.env.npm_command === "pack" ? "install" : "ci";
  execSync(`npm ${install} --prefix console --include=dev --no-audit --no-fund`, { stdio });
  execSync("npm run console", { stdio });
}
