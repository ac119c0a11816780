import { expect, test } from "vitest";
import { injectInto } from "../../faults/injection.ts";
import { startServer } from "../support/server.ts";

// The long form, every payload for every field: npm run faults -- injection
// For a hanging test only: some 50 s alone, and three times that on a busy machine.
const TIMEOUT_MS = 300_000;

test(
  "what is injected into any field of any input is refused or stored as it is, and changes no other row",
  async () => {
    await using server = await startServer();
    const members = Object.getOwnPropertyNames(Object.prototype);
    const { fields, requests, taken, faults } = await injectInto(server, 2);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(members);
    expect(faults).toEqual([]);
    expect(fields).toBeGreaterThan(150);
    expect(requests).toBeGreaterThan(2 * fields);
    expect(taken).toBeGreaterThan(requests / 10);
  },
  TIMEOUT_MS,
);
