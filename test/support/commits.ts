import { vi } from "vitest";
import type { Server } from "./server.ts";

/** Has commits wait until they are told to go on. */
export function holdCommits({ database }: Server) {
  const { commit } = database;
  const { promise: mayStore, resolve: goOn } = Promise.withResolvers<void>();
  const begun = vi.spyOn(database, "commit").mockImplementation(async (rows) => {
    await mayStore;
    return commit(rows);
  });
  return { begun: () => begun.mock.calls.length, goOn };
}
