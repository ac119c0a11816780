import { access, constants, readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };

interface Step {
  uses?: string;
  run?: string;
  if?: string;
  with?: Record<string, unknown>;
}
interface Job {
  needs?: string;
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
  steps: Step[];
}
interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const folder = new URL("../../.github/workflows/", import.meta.url);
const names = (await readdir(folder)).toSorted();
const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
const workflows: Record<string, Workflow> = Object.fromEntries(
  names.map((name, at) => [name, parse(texts[at]!)]),
);
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps);
const runsOf = ({ steps }: Job) => steps.flatMap(({ run }) => run ?? []);

test("there are two workflows: one checks changes, one publishes", () => {
  expect(names).toEqual(["check.yaml", "publish.yaml"]);
  expect(Object.keys(workflows["check.yaml"]!.on)).toEqual(["push", "pull_request"]);
  expect(workflows["publish.yaml"]!.on).toEqual({
    push: { tags: ["v*"] },
    workflow_dispatch: { inputs: { publish: expect.objectContaining({ type: "boolean", default: false }) } },
  });
});

test.each(names)("%s may only read, uses actions of GitHub by their major version, and no secret", (name) => {
  const workflow = workflows[name]!;
  expect(workflow.permissions).toEqual({ contents: "read" });
  for (const { uses } of stepsOf(workflow))
    if (uses) expect(uses).toMatch(/^actions\/(?:checkout|setup-node|upload-artifact)@v\d+$/);
  expect(texts[names.indexOf(name)]).not.toContain("secrets.");
  for (const job of Object.values(workflow.jobs)) expect(job["timeout-minutes"]).toBeGreaterThan(0);
});

test.each(names)("%s puts no text of a caller into a shell", (name) => {
  const runs = stepsOf(workflows[name]!).flatMap(({ run }) => run ?? []);
  expect(runs.filter((run) => run.includes("${{"))).toEqual([]);
});

test.each(names)("%s uses the Node.js of .nvmrc and runs .ci/run, which can be run", async (name) => {
  const workflow = workflows[name]!;
  const setups = stepsOf(workflow).filter(({ uses }) => uses?.startsWith("actions/setup-node@"));
  expect(setups).toHaveLength(Object.keys(workflow.jobs).length);
  for (const setup of setups) expect(setup.with!["node-version-file"]).toBe(".nvmrc");
  expect(runsOf(workflow.jobs.check!)).toEqual([".ci/run"]);
  await access(new URL("../../.ci/run", import.meta.url), constants.X_OK);
});

test("publishing waits for the check, and only it may prove where the package comes from", () => {
  const { check, publish } = workflows["publish.yaml"]!.jobs;
  expect(check!.permissions).toBeUndefined();
  expect(publish).toMatchObject({ needs: "check", permissions: { contents: "read", "id-token": "write" } });
  const publishing = publish!.steps.filter(({ run }) => run?.startsWith("npm publish"));
  expect(publishing).toEqual([
    { run: "npm publish --dry-run", if: "github.ref_type != 'tag' && !inputs.publish" },
    { run: "npm publish --provenance", if: "github.ref_type == 'tag' || inputs.publish" },
  ]);
  expect(packageJson).not.toHaveProperty("repository"); // npm refuses a provenance that names another one
  expect(runsOf(publish!)).toContainEqual(
    expect.stringMatching(/^npm pkg set repository\.type=git "repository\.url=/),
  );
});

test("a tag that does not name the version of the package stops the publication", () => {
  const compare = workflows["publish.yaml"]!.jobs.publish!.steps.find(({ if: condition }) =>
    condition?.startsWith("github.ref_type == 'tag'"),
  );
  expect(compare!.run).toBe(
    `test "$GITHUB_REF_NAME" = "v$(node --print 'require("./package.json").version')"`,
  );
});
