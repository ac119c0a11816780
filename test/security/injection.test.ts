import { expect, test } from "vitest";
import { injectEverywhere } from "../../faults/injection.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";

// The long form, every payload for every field: npm run faults -- injection
// For a hanging test only: some 50 s alone, and three times that on a busy machine.
const TIMEOUT_MS = 300_000;

async function inject(
  perField: number,
  spoil: (server: Awaited<ReturnType<typeof startServer>>) => void = () => {},
) {
  await using server = await startServer();
  const { id: other } = await addWorkspace(server, "other");
  const own = await getWorkspaceId(server.database, "default");
  spoil(server);
  const members = Object.getOwnPropertyNames(Object.prototype);
  const found = await injectEverywhere(
    ({ method, path, body }) => server.request(method, path, body),
    server.database,
    { own, other, perField },
  );
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(members);
  return found;
}

test(
  "what is injected into any field of any input is refused or stored as it is, and changes no other row",
  async () => {
    const { fields, requests, taken, faults } = await inject(2);
    expect(faults).toEqual([]);
    expect(fields).toBeGreaterThan(150);
    expect(requests).toBeGreaterThan(2 * fields);
    expect(taken).toBeGreaterThan(requests / 10);
  },
  TIMEOUT_MS,
);

test(
  "the same payloads find a gateway that writes texts into its statements as they are",
  async () => {
    const { faults } = await inject(1, ({ database }) => {
      const platform = database.orm.em.getPlatform();
      const escaped = platform.escape.bind(platform);
      platform.escape = (value) => (typeof value === "string" ? `'${value}'` : escaped(value));
    });
    expect(faults).not.toEqual([]);
  },
  TIMEOUT_MS,
);
