import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { readPage } from "../support/snippets.ts";

const changelog = await readPage("CHANGELOG.md");
const KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

test("CHANGELOG has the form of Keep a Changelog: versions with their days, newest first, and kinds of changes", () => {
  const [title, ...sections] = changelog.split(/^## /m);
  expect(title).toMatch(/^# Changelog\n/);
  const headings = sections.map((section) => /^\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)\n/.exec(section));
  expect(headings).not.toContain(null);
  const sortable = headings.map((heading) => heading!.slice(1, 4).map((part) => part.padStart(5, "0")));
  expect(sortable.map(String)).toEqual(sortable.map(String).toSorted().toReversed());
  for (const [, , , , day] of headings as string[][]) expect(Number.isNaN(Date.parse(day!))).toBe(false);
  const kinds = [...changelog.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind!);
  expect(kinds.filter((kind) => !KINDS.includes(kind))).toEqual([]);
  expect(changelog).not.toMatch(/^#{4}/m);
});

test("its newest version is that of the package", () => {
  expect(/^## \[(.*?)\]/m.exec(changelog)![1]).toBe(packageJson.version);
});
