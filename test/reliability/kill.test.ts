import { expect, test } from "vitest";
import { killGateway } from "../../faults/kill.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form: npm run faults -- kill
const TIMEOUT_MS = 120_000;

test(
  "a gateway that is killed under 64 writers loses and doubles nothing acknowledged, and serves again",
  async () => {
    await using database = await newDatabase();
    const { acknowledged, unanswered, ...found } = await killGateway(database, { cycles: 3 });
    expect(found).toMatchObject({ cycles: 3, lost: [], doubled: [], faults: [] });
    expect(acknowledged).toBeGreaterThan(0);
    expect(unanswered).toBe(3 * 64);
  },
  TIMEOUT_MS,
);
