import type { Command } from "commander";
import { type Config, loadConfig } from "../../config.ts";
import { printable } from "../../printable.ts";
import { examples, jsonOption } from "../options.ts";
import { printJson } from "../printing.ts";
import { say } from "../workspace.ts";
import { urlOf } from "./listening.ts";

/** The command for monitors that run a program, such as that of a container. */
export function addHealthCommand(program: Command): void {
  program
    .command("health")
    .description("ask the service at HOST and PORT whether it is ready; exits with 0 if it is, else with 1")
    .addOption(jsonOption())
    .addHelpText("after", examples("health"))
    .action(async ({ json }: { json?: true }) => {
      const config = loadConfig();
      if (config.port === 0)
        throw new Error("PORT is 0, any free port. Set PORT to the one that the service listens on.");
      const url = urlOf(config, config.port);
      await askReady(url, config);
      if (json) await printJson({ url, ready: true });
      else say(`The service at ${url} is ready.`);
    });
}

const LIMIT_MS = 5_000;

/** Throws unless the service answers that it is ready. */
async function askReady(url: string, { host, port }: Config): Promise<void> {
  const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(LIMIT_MS) }).catch((cause) => {
    const reason = cause.name === "TimeoutError" ? `not within ${LIMIT_MS / 1_000} seconds` : codeOf(cause);
    throw new Error(`Nothing answers on port ${port} of ${host}: ${reason}.`, { cause });
  });
  if (response.ok) return await response.body?.cancel();
  const answer = (await response.json().catch(() => null)) as { message?: unknown } | null;
  const message = typeof answer?.message === "string" ? ` ${answer.message}` : "";
  throw new Error(
    `The service at ${url} is not ready: it answers with ${response.status}.${printable(message)}`,
  );
}

function codeOf({ cause, message }: Error): string {
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}
