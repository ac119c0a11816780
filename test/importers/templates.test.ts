import { Template } from "@huggingface/jinja";
import fc from "fast-check";
import mustache from "mustache";
import { describe, expect, test } from "vitest";
import { fromFString } from "../../src/importers/templates/fString.ts";
import { fromJinja } from "../../src/importers/templates/jinja.ts";
import { fromMustache } from "../../src/importers/templates/mustache.ts";
import type { Converted } from "../../src/importers/templates/pieces.ts";
import python from "./fixtures/python.json" with { type: "json" };

function rendered(converted: Converted, values: object): string {
  if ("reason" in converted) throw new Error(`Refused in line ${converted.line}: ${converted.reason}`);
  return new Template(converted.text).render({ ...values });
}

/** Texts in which the signs of all engines meet. */
const text = fc
  .array(
    fc.constantFrom("{", "}", "%", "#", "-", "\n", " ", "\t", "\r\n", "a", "{%", "%}", "{#", "#}", '"', "\\"),
  )
  .map((parts) => parts.join(""));
const value = fc.string();

describe("a template of Mustache", () => {
  const unescaped = { escape: (each: string) => each };

  test("renders to the text of the real engine, or is refused", () => {
    const tag = fc.constantFrom(
      "{{name}}",
      "{{ name }}",
      "{{{name}}}",
      "{{&name}}",
      "{{ city\n}}",
      "{{person.name}}",
    );
    const template = fc.array(fc.oneof(text, tag)).map((parts) => parts.join(""));
    let converted = 0;
    fc.assert(
      fc.property(template, value, value, (each, name, city) => {
        const result = fromMustache(each);
        if ("reason" in result) return;
        converted += 1;
        const values = { name, city, person: { name: city } };
        expect(rendered(result, values)).toBe(mustache.render(each, values, undefined, unescaped));
      }),
      { numRuns: 3_000 },
    );
    expect(converted).toBeGreaterThan(500);
  });

  test("without the signs of tags in its texts is never refused", () => {
    const plain = text.map((each) => each.replaceAll("{", "("));
    fc.assert(
      fc.property(plain, plain, value, (before, after, name) => {
        const template = `${before}{{name}}${after}`;
        const expected = mustache.render(template, { name }, undefined, unescaped);
        expect(rendered(fromMustache(template), { name })).toBe(expected);
      }),
    );
  });

  test.each([
    ["a section", "one\n{{#list}}x{{/list}}", 2, "{{#list}} is a section"],
    ["an inverted section", "{{^list}}x{{/list}}", 1, "inverted section"],
    ["a partial", "\n\n{{> other}}", 3, "a partial"],
    ["other delimiters", "{{=<% %>=}}", 1, "other delimiters"],
    ["a comment", "{{! note }}", 1, "a comment"],
    ["a name with a hyphen", "{{user-name}}", 1, "no name that a variable of Jinja can have"],
    ["an operator as a name", "{{not}}", 1, "no name that a variable of Jinja can have"],
    ["a tag without an end", "a\n{{name", 2, "never closed"],
  ])("is refused with its line for %s", (_, template, line, reason) => {
    expect(fromMustache(template)).toEqual({ line, reason: expect.stringContaining(reason) });
  });

  test("that is plain stays as it is", () => {
    for (const template of ["Say hello to {{name}}.", '{{a}}{{b}}\n\n{ "json": true }'])
      expect(fromMustache(template)).toEqual({ text: template });
  });
});

describe("an f-string", () => {
  test.each(python.fStrings)("%j renders as in Python", (template, expected) => {
    expect(rendered(fromFString(template!), python.values)).toBe(expected);
  });

  test("renders any text, its braces doubled, unchanged", () => {
    fc.assert(
      fc.property(text, text, value, (before, after, name) => {
        const doubled = (each: string) => each.replaceAll("{", "{{").replaceAll("}", "}}");
        const template = `${doubled(before)}{name}${doubled(after)}`;
        expect(rendered(fromFString(template), { name })).toBe(before + name + after);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ["a member", "{user.name}", 1],
    ["a format", "a\n{price:.2f}", 2],
    ["a conversion", "{name!r}", 1],
    ["a position", "{0}", 1],
    ["no name", "{}", 1],
    ["a single brace", "a\nb }", 2],
    ["a brace without an end", "{name", 1],
  ])("is refused with its line for %s", (_, template, line) => {
    expect(fromFString(template)).toEqual({ line, reason: expect.any(String) });
  });
});

describe("a template of Jinja", () => {
  test.each(python.jinja)("%j renders as in Python", (template, expected) => {
    expect(rendered(fromJinja(template!), python.values)).toBe(expected);
  });

  test("that Gabbro's engine cannot read is refused with its line", () => {
    expect(fromJinja("a\n{% raw %}b{% endraw %}")).toEqual({
      line: 2,
      reason: expect.stringContaining("unknown statement"),
    });
  });
});
