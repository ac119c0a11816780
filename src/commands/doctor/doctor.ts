import { type Command, Option } from "commander";
import { examples, jsonOption } from "../options.ts";

/** The command that says whether all is well, and what to do where it is not. */
export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("check the service, the tokens and what arrives, and say what to do about what does not")
    .addOption(new Option("--workspace <name>", "only this workspace; all of them unless given"))
    .addOption(jsonOption())
    .addHelpText("after", examples("doctor", "doctor --workspace team-b", "doctor --json"))
    .action(async (options: { workspace?: string; json?: true }) => {
      const { examine } = await import("./examine.ts");
      await examine(options);
    });
}
