import { expect, test } from "vitest";
import { killPostgresql } from "../../faults/killPostgresql.ts";
import { CONTROL } from "../support/controls.ts";
import { findBinaries } from "../support/postgresServer.ts";

// The long form: npm run faults -- kill-postgresql
const TIMEOUT_MS = 120_000;
const why = findBinaries() ? undefined : "no PostgreSQL of npm to kill";

test.skipIf(why)(
  "while PostgreSQL of npm is killed, a gateway answers 503, loses nothing acknowledged, and then serves again by itself",
  async () => {
    const { acknowledged, refused, slowestBackMs, ...found } = await killPostgresql({}, { cycles: 2 });
    const clean = { cycles: 2, lost: [], doubled: [], faults: [], wrongAnswers: [], unanswered: 0 };
    expect(found).toEqual(clean);
    expect(acknowledged).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
    expect(slowestBackMs).toBeLessThan(5_000);
  },
  TIMEOUT_MS,
);

test.skipIf(why)(
  "where npm brought PostgreSQL: that test sees the loss with synchronous_commit=off",
  CONTROL,
  async () => {
    const { lost, faults } = await killPostgresql({ synchronous_commit: "off" }, { cycles: 20 });
    expect(lost.length, faults.join()).toBeGreaterThan(0);
  },
);
