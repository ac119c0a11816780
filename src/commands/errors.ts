import { type Command, CommanderError, InvalidArgumentError } from "commander";
import { printableLines } from "../printable.ts";

const FAILURE = 1;
const WRONG_USAGE = 2;

/** Makes the parser report its errors like all others, and throw instead of ending the process. */
export function configureErrors(program: Command): Command {
  return program.exitOverride().configureOutput({
    writeErr: complain,
    outputError: (message, write) => write(message.replace(/^error: /, "gabbro: ")),
  });
}

/** Makes each usage error name the help of its command. Call it once all commands are added. */
export function pointToHelp(command: Command, path = command.name()): void {
  command.showHelpAfterError(`Run "${path} --help" for help.`);
  for (const each of command.commands) pointToHelp(each, `${path} ${each.name()}`);
}

/** Reports the error that ended the program, unless the parser has, and returns the exit code: 2 for a usage error. */
export function reportEnd(error: unknown): number {
  const isReported = error instanceof CommanderError && !(error instanceof InvalidArgumentError);
  if (!isReported) complain(`gabbro: ${(error as Error).message}\n`);
  if (!(error instanceof CommanderError)) return FAILURE;
  return error.exitCode === 0 ? 0 : WRONG_USAGE; // help and --version end the parser like an error
}

export function complain(lines: string): void {
  process.stderr.write(printableLines(lines));
}
