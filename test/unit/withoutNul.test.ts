import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutNul } from "../../src/logs/withoutNul.ts";

test("what no database stores is U+FFFD, and everything else is as it was", () => {
  const unit = fc.constantFrom("\0", "a", "é", "\u0100", "🦓", "\ud83e", "\udd93", "\ufffd");
  fc.assert(
    fc.property(
      fc.array(unit).map((units) => units.join("")),
      (text) => {
        expect(withoutNul(text)).toBe(text.replaceAll("\0", "\ufffd").toWellFormed());
      },
    ),
  );
});
