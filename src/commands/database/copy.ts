import { type Command, InvalidArgumentError } from "commander";
import { isDatabaseUrl } from "../../config.ts";
import { examples, jsonOption } from "../options.ts";
import { printJson } from "../printing.ts";
import type { Progress } from "../progress.ts";
import { say } from "../workspace.ts";

const HELP = `
A database is named as in DATABASE_URL: sqlite:PATH or postgresql://USER:PASSWORD@HOST:PORT/NAME. A password that is left
out is taken from PGPASSWORD or from ~/.pgpass.

Everything of all workspaces is copied, with the access tokens, as it is at one point in time; the service may go on writing to
the source meanwhile, but what it writes later is not copied. The target must be empty or new, and nothing may use it. All
is read back and compared before it is there for others; when anything fails, nothing is, and it can be copied again.
${examples("copy --from sqlite:data/gabbro.sqlite --to postgresql://gabbro@db.example.com/gabbro")}`;

/** The command that moves everything to another database. */
export function addCopyCommand(program: Command): void {
  program
    .command("copy")
    .description("copy everything to another database, empty or new, of the same kind or of the other")
    .requiredOption("--from <url>", "the database to copy; nothing in it changes")
    .requiredOption("--to <url>", "the database to fill")
    .addOption(jsonOption())
    .addHelpText("after", HELP)
    .action(async ({ from, to, json }: { from: string; to: string; json?: true }) => {
      checkUrl("--from", from);
      checkUrl("--to", to);
      const { copyDatabase } = await import("../../database/copy/copyDatabase.ts");
      const { entities } = await import("../../entities.ts");
      const { showProgress } = await import("../progress.ts");
      let progress: Progress | undefined;
      const copied = await copyDatabase(from, to, {
        // Every row is read twice: to copy it and to compare it.
        begin: (rows) => {
          progress = showProgress(2 * rows);
        },
        report: (rows, checked) => progress?.report(rows + checked, rows),
        signal: onStop(),
        entities,
      }).finally(() => progress?.stop());
      if (json) return printJson(copied);
      for (const { table, rows } of copied) say(`${table}: ${rows.toLocaleString("en")}`);
      say("Copied. All of it was read back from the target and is the same.");
    });
}

/** Not a parser of the option: its error would repeat the URL with the password. */
function checkUrl(option: string, url: string): void {
  if (!isDatabaseUrl(url))
    throw new InvalidArgumentError(
      `${option} must be sqlite:PATH or postgresql://USER:PASSWORD@HOST:PORT/NAME.`,
    );
}

/** Aborts the copy on a signal, so that it removes what it has copied. */
function onStop(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => stop.abort(new Error("The copy was broken off. The target is as it was.")));
  return stop.signal;
}
