import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCommand } from "../support/commandLine.ts";
import { program } from "../support/program.ts";

const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const HELP = /^Run "gabbro[\w ]* --help" for help\.$/m;

test.each<[string[], string]>([
  [["nope"], "gabbro: unknown command 'nope'\n"],
  [["servve"], "(Did you mean serve?)"],
  [["token", "nope"], "gabbro: unknown command 'nope'\nRun \"gabbro token --help\" for help.\n"],
  [["serve", "--nope"], "gabbro: unknown option '--nope'"],
  [["--nope"], "gabbro: unknown option '--nope'"],
  [["serve", "now"], "too many arguments for 'serve'"],
  [["backup"], "missing required argument 'file'"],
  [["token", "create"], "required option '--name <name>' not specified"],
  [["token", "create", "--name", "x", "--scopes", "owner"], '"owner" is not one of read, write'],
  [["token", "create", "--name", "x", "--expires", "2026-02-30"], "not an existing time"],
  [["token", "create", "--name", "x", "--expires", "2001-01-01"], "in the past"],
  [["token", "create", "--name", "a\nb"], "text on one line"],
  [["prune", "--older-than", "soon"], "a number with h, d or w"],
  [["remap", "--from", "30d"], "required option '--to <time>' not specified"],
  [["remap", "--from", "soon", "--to", "1d"], "an age such as 90m"],
])(
  "a wrong command line says what is wrong, names the help and ends with 2: gabbro %j",
  async (args, reason) => {
    const { code, stdout, stderr } = await runCommand(folder, args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
    expect(stderr).toMatch(HELP);
    expect(stderr).not.toContain("    at ");
  },
);

test.each([["token"], ["workspace"], ["prompt"], ["dataset"], ["import"], ["export"]])(
  "a command that needs another one after it lists them and ends with 2: gabbro %s",
  async (command) => {
    const { code, stdout, stderr } = await runCommand(folder, [command]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^Usage: gabbro ${command} `));
  },
);

test("what fails although the command line is right ends with 1, without advice about its usage", async () => {
  const { code, stdout, stderr } = await runCommand(folder, ["token", "list"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^gabbro: There is no database at [^\n]*\n$/);
});

test("without a command it says that it serves and where the commands are listed", async () => {
  const { code, stderr } = await runCommand(folder, [], { PORT: "none" });
  expect(code).toBe(1);
  const [first, second] = stderr.split("\n");
  expect(first).toBe(
    'gabbro: no command given, so this runs "gabbro serve". "gabbro --help" lists the commands.',
  );
  expect(second).toBe("gabbro: The configuration has errors:");
  expect((await runCommand(folder, ["serve"], { PORT: "none" })).stderr).not.toContain("no command given");
});

const commands: Record<string, string[]> = {
  "": [
    ...["serve", "health", "doctor", "token", "workspace"],
    ...["prompt", "dataset", "logs", "usage", "import", "export"],
    ...["pull", "push", "diff", "check"],
    ...["migrate", "sample", "backup", "restore", "prune", "remap", "copy", "help"],
  ],
  token: ["create", "list", "revoke", "help"],
  workspace: ["create", "list", "help"],
  prompt: ["list", "show", "diff", "help"],
  dataset: ["list", "show", "versions", "diff", "tag", "help"],
  import: [
    "dataset",
    "prompts",
    "langfuse",
    "otlp",
    "phoenix",
    "braintrust",
    "langsmith",
    "promptlayer",
    "basalt",
    "help",
  ],
  export: ["dataset", "logs", "prompts", "help"],
};

test.each(Object.entries(commands))("--help lists the commands: gabbro %s", async (group, names) => {
  const { code, stdout } = await runCommand(folder, [...group.split(" ").filter(Boolean), "--help"]);
  expect(code).toBe(0);
  const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?= |$)/gm)].map(([, name]) => name);
  expect(listed).toEqual(names);
});

const leaves = Object.entries(commands).flatMap(([group, names]) =>
  names.filter((name) => name !== "help" && !(name in commands)).map((name) => `${group} ${name}`.trim()),
);

/** The service, and what prints data in a format of its own. */
const printsNoTable = ["serve", "export dataset", "export logs"];

test.each(leaves)(
  "--help says how a command is used, what it does, and an example: gabbro %s",
  async (command) => {
    const { code, stdout } = await runCommand(folder, [...command.split(" "), "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: gabbro ${command}[^\\n]*\\n\\n\\w`));
    expect(stdout).toMatch(new RegExp(`^ {2}\\$ gabbro ${command}`, "m"));
    expect(stdout.includes("--json")).toBe(!printsNoTable.includes(command));
  },
);

test.each([["--version"], ["-V"]])("%s prints the version and nothing else", async (option) => {
  expect(await runCommand(folder, [option])).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: "",
  });
});

test("help whose reader has ended, such as head, ends without an error", async () => {
  const help = spawn(process.execPath, [program, "--help"], { cwd: folder });
  help.stdout.destroy();
  let stderr = "";
  help.stderr.on("data", (piece) => {
    stderr += piece;
  });
  const [code] = await once(help, "close");
  expect([code, stderr]).toEqual([0, ""]);
});
